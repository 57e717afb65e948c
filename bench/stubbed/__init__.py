"""The flows on canned answers, for CPU alone."""
