"""Runs of workflows: how the record of a run begins and ends, and the releases of its nodes."""
