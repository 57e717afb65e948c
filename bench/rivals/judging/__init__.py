"""What the systems are judged by: their jobs, what came of these at the receiver, and the report. Pure functions."""
