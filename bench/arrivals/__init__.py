"""Measures when jobs arrive at their target, and how late."""
