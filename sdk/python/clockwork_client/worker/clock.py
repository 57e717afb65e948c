"""The clock of a worker: monotonic seconds, and pauses that an event ends. Tests stand in for it."""

from __future__ import annotations

import threading
import time
from typing import Protocol


class Clock(Protocol):
    """Seconds of a monotonic clock, and a wait on it."""

    def now(self) -> float:
        """Seconds since some instant."""

    def wait(self, event: threading.Event, seconds: float) -> bool:
        """Wait until the event is set, for so many seconds at the most; whether it is set."""

    def sleep(self, seconds: float) -> None:
        """Wait for so many seconds."""


class Monotonic:
    """The machine's own."""

    def now(self) -> float:
        """As `Clock` says."""
        return time.monotonic()

    def wait(self, event: threading.Event, seconds: float) -> bool:
        """As `Clock` says."""
        return event.wait(max(0.0, seconds))

    def sleep(self, seconds: float) -> None:
        """As `Clock` says."""
        time.sleep(seconds)
