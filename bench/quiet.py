"""Waits for a machine that has nothing else to do."""

from __future__ import annotations

import os
import time

#: Processes that are running or waiting to, averaged over a minute.
QUIET_LOAD = 1.5
LONGEST_WAIT_SECONDS = 60


def load() -> float:
    """The load average of the last minute."""
    return os.getloadavg()[0]


def await_quiet(longest_seconds: float = LONGEST_WAIT_SECONDS) -> float:
    """Wait until the load is below 1.5, but not longer than a minute; the load then."""
    deadline = time.monotonic() + longest_seconds
    while (now := load()) >= QUIET_LOAD and time.monotonic() < deadline:
        time.sleep(1)
    return now
