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
    """Raises NoEnd inside the block if it takes longer than `seconds`."""
    before = signal.signal(signal.SIGALRM, _end)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def _end(_: int, __: FrameType | None) -> None:
    raise NoEnd
