"""Adapters that implement the ports on Kafka."""
