"""Outages: faults of a port that a flow logs and then goes on without, because nothing depends on that call."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from clockwork.domain.errors import ClockworkError, Unavailable
from clockwork.flows.containment import contained
from clockwork.flows.world import World


def tolerated(
    world: World, log: logging.Logger, message: str, extra: Mapping[str, object], *also: type[ClockworkError]
) -> contained:
    """Leave the block and log a warning if a port is Unavailable, if an error of `also` is raised, or for any defect.

    `message` has one `%s`, for the error. `extra` are further fields of the log line, the `action` among them. A defect
    is counted as contained.
    """

    def warn(why_not: str) -> None:
        log.warning(message, why_not, extra=extra)

    return contained(world.environment.faults, warn, extra.get("action"), (Unavailable, *also))
