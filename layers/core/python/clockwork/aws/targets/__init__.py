"""The targets of jobs."""
