"""The api Lambda: answers the signed HTTPS requests of clients.

Its code is in the core layer, so that a deployment replaces all of it at once.
"""

from clockwork.handlers.api import lambda_handler

__all__ = ["lambda_handler"]
