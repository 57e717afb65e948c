"""Poller: releases what is due soon. Its code is in the core layer: a deploy swaps all of it at once."""

from clockwork.handlers.poller import lambda_handler

__all__ = ["lambda_handler"]
