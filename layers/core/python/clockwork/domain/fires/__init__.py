"""Which fires a named job has, and how many: chains, backfills, counts."""
