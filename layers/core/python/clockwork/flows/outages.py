"""Outages: faults of a port that a flow logs and then goes on without, because nothing depends on that call."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from clockwork.domain.errors import ClockworkError, Unavailable
from clockwork.flows.containment import why
from clockwork.flows.world import World


@contextmanager
def tolerated(
    world: World, log: logging.Logger, message: str, extra: Mapping[str, object], *also: type[ClockworkError]
) -> Iterator[None]:
    """Leave the block and log a warning if a port is Unavailable, if an error of `also` is raised, or for any defect.

    `message` has one `%s`, for the error. `extra` are further fields of the log line, the `action` among them. A defect
    is counted as contained.
    """
    errors: tuple[type[ClockworkError], ...] = (Unavailable, *also)
    try:
        yield
    except Exception as error:
        if isinstance(error, ClockworkError) and not isinstance(error, errors):
            raise
        log.warning(message, why(world.environment.faults, error, extra.get("action")), extra=extra)
