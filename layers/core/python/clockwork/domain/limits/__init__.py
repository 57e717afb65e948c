"""Limits: rate limits, concurrency limits, circuit breakers, and how far ahead pollers release."""
