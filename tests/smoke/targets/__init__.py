"""The targets of a smoke's jobs: one stack with a target of each type, and the ear that hears them all."""
