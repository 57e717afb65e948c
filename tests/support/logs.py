"""Logs as a new environment of a Lambda writes them, in the process of the tests."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from unittest import mock

from aws_lambda_powertools.logging import logger as powertools

from clockwork import telemetry

STACK = "Clockwork"


@contextmanager
def new_environment(service: str = STACK) -> Iterator[None]:
    """Whatever a new environment does to logging ends with the block: Powertools keeps its own by the logger's name."""
    root, own, botocore = logging.getLogger(), logging.getLogger(service), logging.getLogger("botocore")
    handlers, levels = list(root.handlers), [(one, one.level) for one in (root, own, botocore)]
    before, propagates = set(vars(own)), own.propagate
    own_handlers = list(own.handlers)
    with mock.patch.object(powertools, "is_cold_start", new=True):
        try:
            yield
        finally:
            own.handlers[:], own.propagate = own_handlers, propagates
            root.handlers[:] = handlers
            for one, level in levels:
                one.setLevel(level)
            for name in set(vars(own)) - before:
                delattr(own, name)


@contextmanager
def logging_as_in_lambda(level: str = "INFO", service: str = STACK) -> Iterator[None]:
    """Logs go to standard output, as lines of JSON."""
    with new_environment(service):
        telemetry.make_logger(service, {"POWERTOOLS_LOG_LEVEL": level})
        yield
