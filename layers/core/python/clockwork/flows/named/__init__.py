"""Somebody asks for a named job: its definition, its chain of fires, control over it."""
