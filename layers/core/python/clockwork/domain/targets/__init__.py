"""Targets: the checks of a target before it is called, and the contents of a call."""
