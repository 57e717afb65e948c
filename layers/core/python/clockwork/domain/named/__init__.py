"""Changes of a named job: its next row, the look before a start, and immediate endings."""
