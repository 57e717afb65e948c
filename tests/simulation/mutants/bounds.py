"""What a mutant that runs amok may use: so much time and memory, and no more."""

from __future__ import annotations

import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

#: Many times what the tests need.
MOST_BYTES = 4 * 1024**3


class NoEnd(BaseException):
    """The time is over. No `except Exception` stops it."""


def bound_memory() -> None:
    """Let this process have no more memory than MOST_BYTES: asking for more raises MemoryError."""
    _, most = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (MOST_BYTES, most))


@contextmanager
def bound_time(seconds: int) -> Iterator[None]:
    """Raises NoEnd in the midst of whatever takes longer."""
    before = signal.signal(signal.SIGALRM, _end)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def _end(_: int, __: FrameType | None) -> None:
    raise NoEnd
