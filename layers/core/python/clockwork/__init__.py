"""Clockwork's core: what every Lambda shares. This folder is the Lambda layer."""
