"""Adapters that deliver to the targets of jobs."""
