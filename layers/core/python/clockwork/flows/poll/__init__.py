"""The ticker and the poller: each minute pollers are started, and release the occurrences of their shards."""
