"""Workflows: how the steps of a run follow from each other. Each call of these flows may be repeated by anybody."""
