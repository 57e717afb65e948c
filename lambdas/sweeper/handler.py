"""The sweeper Lambda: repairs work that the other Lambdas left behind.

Its code is in the core layer, so that a deployment replaces all of it at once.
"""

from clockwork.handlers.sweeper import lambda_handler

__all__ = ["lambda_handler"]
