"""Deadlines of calls: nothing is sent after the deadline under which its call is made.

A Lambda environment may be frozen in the middle of a call, and thawed minutes later. The call would then send its
request although its attempt is recorded as over, and perhaps repeated. Each client therefore checks the deadline again
right before it sends. Bytes that are on the wire when the environment freezes were sent in time.
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
    """The attempt has too little time left, so its call was not made."""


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
