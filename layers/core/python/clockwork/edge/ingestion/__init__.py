"""Messages that ask for jobs."""
