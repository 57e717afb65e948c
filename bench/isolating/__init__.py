"""Isolation: what other clients notice of one whose jobs are poison, or which floods the deliverers."""
