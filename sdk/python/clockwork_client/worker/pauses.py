"""Pauses after failures: longer with each, up to half a minute, and none after a success."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event

from clockwork_client.worker.clock import Clock

log = logging.getLogger(__name__)

_FIRST, _LONGEST = 1.0, 30.0


class Pauses:
    """The pauses of one loop, which `is_over` ends."""

    def __init__(self, clock: Clock, is_over: Event) -> None:
        self._clock = clock
        self._is_over = is_over
        self._next = _FIRST

    @contextmanager
    def guard(self, what: str) -> Iterator[None]:
        """Run a round of the loop: a failure is logged, and followed by a pause."""
        try:
            yield
        except Exception as error:  # noqa: BLE001 - whatever the other side or its library says: the loop goes on
            log.warning("%s: %s", what, error)
            self._clock.wait(self._is_over, self._next)
            self._next = min(_LONGEST, self._next * 2)
        else:
            self._next = _FIRST
