"""Kafka and MSK."""
