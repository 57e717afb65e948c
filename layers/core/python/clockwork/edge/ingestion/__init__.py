"""Messages that create and cancel jobs, as requests do."""
