"""The deliverer Lambda: delivers released occurrences when they are due.

Its code is in the core layer, so that a deployment replaces all of it at once.
"""

from clockwork.handlers.deliverer import lambda_handler

__all__ = ["lambda_handler"]
