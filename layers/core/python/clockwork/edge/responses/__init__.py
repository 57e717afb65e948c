"""The bodies of answers."""
