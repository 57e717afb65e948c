"""The ticker Lambda: starts the pollers, once a minute.

Its code is in the core layer, so that a deployment replaces all of it at once.
"""

from clockwork.handlers.ticker import lambda_handler

__all__ = ["lambda_handler"]
