"""What the jobs of a smoke are delivered to: one stack with a target of each type, and the ear that hears them all."""
