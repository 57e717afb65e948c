"""The clock of a worker: monotonic seconds, and pauses that an event ends. Tests stand in for it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Protocol

#: The interval (s) at which a wait reads the clock: an Event does not count the time of a suspended machine.
_LOOKS_EVERY = 5.0


class Clock(Protocol):
    """Seconds of a monotonic clock, and a wait on it."""

    def now(self) -> float:
        """Seconds since some instant."""

    def wait(self, event: threading.Event, seconds: float) -> bool:
        """Wait until the event is set, for so many seconds at the most; whether it is set."""

    def sleep(self, seconds: float) -> None:
        """Wait for so many seconds."""


class Monotonic:
    """The machine's own, which goes on while a Linux machine is suspended: claims go on to their end meanwhile."""

    def __init__(self) -> None:
        self._seconds = _source()

    def now(self) -> float:
        """As `Clock` says."""
        return self._seconds()

    def wait(self, event: threading.Event, seconds: float) -> bool:
        """As `Clock` says."""
        ends_at = self.now() + seconds
        while (left := ends_at - self.now()) > 0 and not event.wait(min(left, _LOOKS_EVERY)):
            pass
        return event.is_set()

    def sleep(self, seconds: float) -> None:
        """As `Clock` says."""
        time.sleep(seconds)


def _source() -> Callable[[], float]:
    """CLOCK_BOOTTIME where there is one that can be read, which a sandbox may refuse; `time.monotonic` elsewhere."""
    try:
        clock = time.CLOCK_BOOTTIME
        time.clock_gettime(clock)
    except (AttributeError, OSError):
        return time.monotonic
    return lambda: time.clock_gettime(clock)
