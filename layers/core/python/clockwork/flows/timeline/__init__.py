"""The timeline: how flows of every moment put rows, and register and check shards."""
