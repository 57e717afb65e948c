"""What can go wrong, each named by the fact it states."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec


class Problem(msgspec.Struct, frozen=True):
    """One fault of a request: a JSON pointer to the place and a sentence that names the fault and the bound."""

    pointer: str
    detail: str


class ClockworkError(Exception):
    """The root of all errors that Clockwork raises on purpose."""


class InvalidRequest(ClockworkError):
    """A request is well-formed but not acceptable; carries every fault at once."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("; ".join(f"{p.pointer or '/'} {p.detail}" for p in self.problems))


class JobNotFound(ClockworkError):
    """No such job, or it is another client's: the two are not told apart."""


class ExecutionNotFound(ClockworkError):
    """No such execution, or it is another client's: the two are not told apart."""


class NotAllowed(ClockworkError):
    """The caller may not act for that client, whether or not it exists."""


class KeyReused(ClockworkError):
    """The Idempotency-Key was used for another request within its memory."""


class NameTaken(ClockworkError):
    """The jobKey names another job; carries the pointers at which the definitions differ."""

    def __init__(self, detail: str, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__(detail)


class RevisionConflict(ClockworkError):
    """The job was changed since the caller read it."""


class NotDead(ClockworkError):
    """Only what is DEAD, and has not been discarded, can be redriven."""


class NotNamed(ClockworkError):
    """An anonymous job is its instant: it can be read and cancelled, not changed."""


class Unavailable(ClockworkError):
    """A store or queue gave no definite answer, or refused for now: whether it acted is unknown. Repeat later."""


class OrderedShardsChanged(Unavailable):
    """The number of ordered shards is not the one that the stack was made with: no ordered job can be placed."""


class NotScheduled(ClockworkError):
    """Under that key there is nothing that could still be cancelled for certain."""


class TooManyRequests(ClockworkError):
    """The client has used up what it may create for now; nothing was written. Repeat after `retry_after_seconds`."""

    def __init__(self, detail: str, retry_after_seconds: int) -> None:
        self.retry_after_seconds = retry_after_seconds
        super().__init__(detail)


class Unreadable(ClockworkError):
    """What is stored or was sent cannot be read by this version: nothing but itself may have to wait for that."""


class NewerFormat(Unreadable):
    """A row or message was written by a newer version than this one: stop, do not guess."""


class Undecodable(Unreadable):
    """Bytes that no version of Clockwork wrote."""
