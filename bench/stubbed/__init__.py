"""Runs the flows on canned answers of AWS, to measure CPU alone."""
