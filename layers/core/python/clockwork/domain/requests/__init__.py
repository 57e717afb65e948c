"""What a valid request to create says, which of its jobs share a row, and how many a client may create."""
