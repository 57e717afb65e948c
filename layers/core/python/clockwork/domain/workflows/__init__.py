"""Workflows: the definition of a run, and the decisions about its nodes. Nothing here knows a record or a release."""
