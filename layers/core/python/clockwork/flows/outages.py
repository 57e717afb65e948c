"""Outages: faults of a port that a flow logs and then goes on without, because nothing depends on that call."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from clockwork.domain.errors import ClockworkError, Unavailable


@contextmanager
def tolerated(
    log: logging.Logger, message: str, extra: Mapping[str, object], *also: type[ClockworkError]
) -> Iterator[None]:
    """Leave the block and log a warning if a port is Unavailable, or if an error of `also` is raised.

    `message` has one `%s`, for the error. `extra` are further fields of the log line, the `action` among them.
    """
    errors: tuple[type[ClockworkError], ...] = (Unavailable, *also)
    try:
        yield
    except errors as error:
        log.warning(message, error, extra=extra)
