"""Deliverer: delivers what is due. Its code is in the core layer: a deploy swaps all of it at once."""

from clockwork.handlers.deliverer import lambda_handler

__all__ = ["lambda_handler"]
