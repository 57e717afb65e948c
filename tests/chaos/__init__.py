"""Chaos on the deployed local stack: what it runs on is killed, stopped and taken away while jobs come due."""
