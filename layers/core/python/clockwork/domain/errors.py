"""Errors that Clockwork raises on purpose, each named after the fact that it states."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

import msgspec

Value = TypeVar("Value")


class Problem(msgspec.Struct, frozen=True):
    """One fault of a request: a JSON pointer to the faulty value, and a sentence that names the fault and the bound."""

    pointer: str
    detail: str


class ClockworkError(Exception):
    """The root of all errors that Clockwork raises on purpose."""


class InvalidRequest(ClockworkError):
    """A request is well-formed but not acceptable; `problems` lists every fault of it at once."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("; ".join(f"{p.pointer or '/'} {p.detail}" for p in self.problems))


class JobNotFound(ClockworkError):
    """There is no such job, or it is another client's. The caller cannot tell the two cases apart."""


class ExecutionNotFound(ClockworkError):
    """There is no such execution, or it is another client's. The caller cannot tell the two cases apart."""


class OperationNotFound(ClockworkError):
    """There is no such operation, or it is another client's. The caller cannot tell the two cases apart."""


class TooManyOpen(ClockworkError):
    """The client has as many operations under way as it may have."""


class ClientNotFound(ClockworkError):
    """There is no such client. Only an admin learns that: to all others it is NotAllowed."""


class PoolNotFound(ClockworkError):
    """The deployment has no such pool; the message says how to get one. Only admins and its workers learn that."""


class ClientDeleting(ClockworkError):
    """The client is being deleted: it takes no job and no change any more."""


class NotAllowed(ClockworkError):
    """The caller may not act for that client, whether or not the client exists."""


class KeyReused(ClockworkError):
    """The Idempotency-Key was used for another request, and Clockwork still remembers that one."""


class NameTaken(ClockworkError):
    """The jobKey names another job; `problems` holds the JSON pointers at which the definitions differ."""

    def __init__(self, detail: str, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__(detail)


class RevisionConflict(ClockworkError):
    """The job was changed since the caller read it."""


class NotDead(ClockworkError):
    """The execution cannot be redriven: only one that is DEAD and was not discarded can."""


class StaleToken(ClockworkError):
    """The token is not that of an attempt that runs: its claim has been ended, or it never was one."""


class UnknownToken(ClockworkError):
    """A token that came unsigned names no attempt that runs under it. The caller is not told why."""


class NotNamed(ClockworkError):
    """An anonymous job has one instant and cannot be changed: a client can only read it and cancel it."""


class Unavailable(ClockworkError):
    """A store or queue gave no definite answer, or refused for now: whether it acted is unknown. Repeat later."""


class PartitionThrottled(Unavailable):
    """DynamoDB throttles one partition, which is read or written faster than any can be. The call changed nothing."""


class PartlyUnavailable(Unavailable):
    """Some of what was asked for was refused for a reason of its own: what was asked for beside it may be accepted."""


class RefusedForGood(PartlyUnavailable):
    """The queue refused a release itself: the same release is refused again, and others beside it are not."""


class OrderedShardsChanged(PartlyUnavailable):
    """The setting asks for another number of ordered shards than the stack was made with: ordered jobs are refused."""


class NotScheduled(ClockworkError):
    """There is no job under that key that could still be cancelled for certain."""


class TooManyRequests(ClockworkError):
    """The client has used up a quota for now, of creates or reads. Nothing was written.

    It may repeat the request after `retry_after_seconds`.
    """

    def __init__(self, detail: str, retry_after_seconds: int) -> None:
        self.retry_after_seconds = retry_after_seconds
        super().__init__(detail)


class Unreadable(ClockworkError):
    """A stored value or a message cannot be read by this version. Nothing else may have to wait because of it."""


class NewerFormat(Unreadable):
    """A newer version than this one wrote the row or message: the reader stops and does not guess."""


class Undecodable(Unreadable):
    """No version of Clockwork wrote these bytes."""


def readable(value: Value | Unreadable | Unavailable) -> Value:
    """The value that was read. Raises what stands in its place if it cannot be read, or gave no answer."""
    if isinstance(value, Unreadable | Unavailable):
        raise value
    return value
