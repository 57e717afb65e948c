"""Rows and shards of the timeline, as every moment uses them."""
