"""Webhooks: their URLs, addresses, signatures and traces."""
