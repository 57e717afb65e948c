"""The exception by which a handler decides about its next attempt."""

from __future__ import annotations

from datetime import timedelta


class Fail(Exception):
    """Raise Fail in a handler to decide about the next attempt.

    `retryable=False`: no further attempt, the execution is DEAD. `retry_after`: the least wait before the next attempt,
    in seconds or as a timedelta, up to a day. A longer wait counts as a day, and a value that is no time is left out.
    """

    #: Of a subclass whose `__init__` does not call this one.
    retryable: bool = True
    retry_after: float | timedelta | None = None

    def __init__(self, error: str, *, retryable: bool = True, retry_after: float | timedelta | None = None) -> None:
        super().__init__(error)
        self.retryable = retryable
        self.retry_after = retry_after
