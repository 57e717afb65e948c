"""Errors of the client. `Refused` is certain: the API said no. `NotCertain` is not: repeat under the same key."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

_EMPTY: Mapping[str, Any] = {}


class Fault(NamedTuple):
    """One fault of a request: an RFC 6901 `pointer` into the body, and the reason.

    An empty pointer is the whole body, or outside of it.
    """

    pointer: str
    detail: str


class ClockworkError(Exception):
    """Any error of this package."""


class NotConfigured(ClockworkError):
    """The client lacks a URL, a region, credentials or a clientId. Nothing was sent; the message says what to set."""


class InvalidWebhook(ClockworkError):
    """A webhook is not from Clockwork, or is too old: do not act on it. The message has the reason."""


class UnexpectedAnswer(ClockworkError):
    """An answer has not the shape that the API describes. The API may have carried the request out.

    `idempotency_key` is the request's key, if the request creates something: a repeat under the key creates no
    duplicate.
    """

    idempotency_key: str | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self.args, {"idempotency_key": self.idempotency_key}


class Refused(ClockworkError):
    """The API refused a request, and did no part of it.

    `status` is the HTTP status, `detail` the reason, `faults` each fault of the body, `raw` the whole problem document.
    """

    def __init__(self, status: int, detail: str, faults: tuple[Fault, ...] = (), raw: Mapping[str, Any] = _EMPTY):
        self.status = status
        self.detail = detail
        self.faults = faults
        self.raw = raw
        lines = [f"{status}: {detail}", *(f"  {fault.pointer or '(request)'}: {fault.detail}" for fault in faults)]
        super().__init__("\n".join(lines))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.status, self.detail, self.faults, self.raw)

    @property
    def pointers(self) -> tuple[str, ...]:
        """The pointers of all faults."""
        return tuple(fault.pointer for fault in self.faults)


class BadRequest(Refused):
    """400: the body is not JSON."""


class NotAllowed(Refused):
    """403: the request is not signed by a principal that may do this, or the client is not the caller's."""


class NotFound(Refused):
    """404: there is no such thing, or it is another client's."""


class Conflict(Refused):
    """409: a key, a jobKey or a revision stands for something else, or the state does not allow this."""


class TooLarge(Refused):
    """413: the body has too many bytes."""


class Invalid(Refused):
    """422: the body has faults, all of them in `faults`."""


class TooManyRequests(Refused):
    """429: too fast, or too many today. `retry_after` is the wait that the API asked for (s), if it did."""

    retry_after: float | None = None
    may_be_done = False

    def __reduce__(self) -> tuple[Any, ...]:
        return (*super().__reduce__(), {"retry_after": self.retry_after})


#: The class of a refusal by its status; others are plain `Refused`.
REFUSALS: Mapping[int, type[Refused]] = {
    400: BadRequest,
    403: NotAllowed,
    404: NotFound,
    409: Conflict,
    413: TooLarge,
    422: Invalid,
    429: TooManyRequests,
}


class NotCertain(ClockworkError):
    """No certain answer came before the deadline, so the request may have been done, or may not.

    Repeat the call. If it creates something, pass `idempotency_key` again: then it is created once at most. `tries` is
    the number of sends. `__cause__` is the error of the last try.
    """

    def __init__(self, message: str, tries: int = 0, idempotency_key: str | None = None):
        super().__init__(message)
        self.tries = tries
        self.idempotency_key = idempotency_key

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self), self.tries, self.idempotency_key)


class NotReached(NotCertain):
    """No connection to the API was possible in time, so the API did nothing."""
