"""Sweeper: sees to what was left behind. Its code is in the core layer: a deploy swaps all of it at once."""

from clockwork.handlers.sweeper import lambda_handler

__all__ = ["lambda_handler"]
