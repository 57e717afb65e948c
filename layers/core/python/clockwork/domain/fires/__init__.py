"""The fires of a named job: chains, backfills, and how many fires there are."""
