"""Ends that the service of a target tells: what an attempt began there, and the decisions on what is told of it."""
