"""When jobs arrive, and how late."""
