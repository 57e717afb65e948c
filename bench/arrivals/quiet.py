"""Waits until the machine has nothing else to do."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

#: How many cores other processes may keep busy on a quiet machine.
QUIET_CORES = 0.5
LONGEST_WAIT_SECONDS = 20
#: User, nice, system, idle, ... in hundredths of a second: https://man7.org/linux/man-pages/man5/proc_stat.5.html
_STAT = Path("/proc/stat")
_IDLE = (3, 4)


def busy_cores(seconds: float = 1.0) -> float:
    """How many cores are busy over the next second; on systems without /proc/stat, the load average."""
    if not _STAT.exists():
        return os.getloadavg()[0]
    before = _ticks()
    time.sleep(seconds)
    passed = [after - earlier for earlier, after in zip(before, _ticks(), strict=True)]
    idle = sum(passed[place] for place in _IDLE)
    return (os.cpu_count() or 1) * (1 - idle / max(1, sum(passed)))


def await_quiet(longest_seconds: float = LONGEST_WAIT_SECONDS) -> float:
    """Wait until less than half a core is busy, for `longest_seconds` at most; returns how many are busy then."""
    deadline = time.monotonic() + longest_seconds
    while (busy := busy_cores()) >= QUIET_CORES and time.monotonic() < deadline:
        time.sleep(1)
    return busy


def refuse_busy() -> None:
    """End the command with status 1 if others keep the machine busy: a published figure would have their load in it."""
    if (busy := await_quiet()) >= QUIET_CORES:
        sys.exit(
            f"--docs: others keep {busy:.1f} cores busy (at most {QUIET_CORES}), so the figures would be theirs, too"
        )


def _ticks() -> list[int]:
    return [int(count) for count in _STAT.read_text().partition("\n")[0].split()[1:9]]
