"""Deadlines of calls: nothing is sent after the deadline under which its call is made.

A Lambda environment may be frozen in the middle of a call, and thawed minutes later. The call then goes on where it
stood: it would send its request although its attempt was recorded as over, and perhaps made again. So each client asks
once more just before it sends. What is on the wire already when the environment is frozen has been sent in time.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from clockwork.ports import Clock

#: The clock and the deadline (ms) of the calls that this thread makes now.
_UNTIL: ContextVar[tuple[Clock, int] | None] = ContextVar("until", default=None)


class OutOfTime(Exception):
    """So little time is left of the attempt that its call was not made."""


@contextmanager
def calls_until(clock: Clock, deadline_at: int) -> Iterator[None]:
    """Let the calls that this thread makes meanwhile raise OutOfTime rather than send anything after `deadline_at`."""
    token = _UNTIL.set((clock, deadline_at))
    try:
        yield
    finally:
        _UNTIL.reset(token)


def refuse_late(**_: Any) -> None:
    """Botocore's event `before-send`: raises OutOfTime once the deadline of the call is over."""
    if (until := _UNTIL.get()) is not None and until[0].now() >= until[1]:
        raise OutOfTime
