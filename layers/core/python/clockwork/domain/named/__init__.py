"""What becomes of a named job when it is changed: its next row, the look before a start, and endings at once."""
