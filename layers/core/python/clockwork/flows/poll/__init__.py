"""A minute passes, and a shard is polled."""
