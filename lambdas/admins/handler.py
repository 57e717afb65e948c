"""The Lambda that a deployment runs to name the admins: CloudFormation starts it, and nobody else.

Its code is in the core layer, so that a deployment replaces all of it at once.
"""

from clockwork.handlers.admins import lambda_handler

__all__ = ["lambda_handler"]
