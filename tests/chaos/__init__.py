"""Chaos tests on the deployed local stack: its processes are killed, stopped and taken away while jobs come due."""
