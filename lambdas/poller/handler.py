"""The poller Lambda: releases the occurrences that are due soon.

Its code is in the core layer, so that a deployment replaces all of it at once.
"""

from clockwork.handlers.poller import lambda_handler

__all__ = ["lambda_handler"]
