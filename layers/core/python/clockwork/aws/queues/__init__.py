"""Adapters of the queues, on SQS."""
