"""Requests to create jobs: their contents, which of their jobs share a row, and how many a client may create."""
