"""Storage: how values are encoded in rows and messages."""
