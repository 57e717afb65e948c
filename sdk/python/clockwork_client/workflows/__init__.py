"""Workflows: steps that wait for each other, as one target; their runs, and pictures of both."""
