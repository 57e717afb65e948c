"""Workers of a pool on the local stack: their processes, and what these began."""
