"""The ingester Lambda: creates and cancels jobs by message.

Its code is in the core layer, so that a deployment replaces all of it at once.
"""

from clockwork.handlers.ingester import lambda_handler

__all__ = ["lambda_handler"]
