"""Api: answers the signed HTTPS requests. Its code is in the core layer: a deploy swaps all of it at once."""

from clockwork.handlers.api import lambda_handler

__all__ = ["lambda_handler"]
