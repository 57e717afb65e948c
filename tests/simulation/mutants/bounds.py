"""Bounds on the time and memory of a mutant that runs amok."""

from __future__ import annotations

import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

#: Many times what the tests need.
MOST_BYTES = 4 * 1024**3


class NoEnd(BaseException):
    """The time is over. `except Exception` does not catch it."""


def bound_memory() -> None:
    """Limits this process to MOST_BYTES of memory: allocating more raises MemoryError."""
    _, most = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (MOST_BYTES, most))


@contextmanager
def bound_time(seconds: int) -> Iterator[None]:
    """Raises NoEnd inside the block if it takes more than `seconds` of this process's own work.

    A machine that is busy with other things makes nothing endless. Code that merely sleeps is therefore not bounded
    here.
    """
    before = signal.signal(signal.SIGPROF, _end)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def _end(_: int, __: FrameType | None) -> None:
    raise NoEnd
