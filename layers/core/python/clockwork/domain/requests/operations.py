"""Operations: changes of many jobs or dead executions that sweeps carry out, a call's worth at a time.

The record of an operation has its progress. A sweep takes the record before each call and writes the result behind it,
both by compare-and-set. A call whose result was never written is counted as uncertain: it may have changed something
that `changed` does not have.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import StrEnum, unique
from typing import Any

import msgspec

from clockwork.domain.executions import DAY_MS

#: Items of one call, and the operations that a client may have open.
MOST_OF_A_CALL, MOST_OPEN = 100, 4
#: Items that the record keeps of those that were passed, and the characters of each reason.
MOST_PASSED, LONGEST_REASON = 20, 200
#: The bounds of `max_per_second`, and its value unless one is asked for.
LEAST_RATE, MOST_RATE, USUAL_RATE = 0.1, 1_000.0, 200.0
#: One call has the items of so long a time (s) at the rate.
CALL_SECONDS = 10
#: The wait (ms) behind the first of several calls that fail, and the longest. It doubles with each.
FIRST_WAIT_MS, LONGEST_WAIT_MS = 5_000, 900_000
#: An operation ends FAILED once its calls have failed for so long, without one that did not (ms).
GIVEN_UP_MS = DAY_MS
#: The record is kept for so long after it was written last (ms).
KEPT_MS = 30 * DAY_MS


@unique
class Kind(StrEnum):
    """The change that an operation makes."""

    REDRIVE_DEAD = "redriveDead"
    DISCARD_DEAD = "discardDead"
    PAUSE_JOBS = "pauseJobs"
    RESUME_JOBS = "resumeJobs"
    CANCEL_JOBS = "cancelJobs"


@unique
class Stage(StrEnum):
    """How far an operation has come. STOPPING: a stop was asked for while a call was under way."""

    RUNNING = "RUNNING"
    STOPPING = "STOPPING"
    STOPPED = "STOPPED"
    DONE = "DONE"
    FAILED = "FAILED"


class Meant(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """The filter: jobs by key and tag, dead executions by key and due instants (ms, both included).

    `paused_reason`: of a resume, which leaves alone what was paused for another reason.
    """

    prefix: str | None = None
    tag: str | None = None
    from_at: int | None = None
    to_at: int | None = None
    paused_reason: str | None = None


class Passed(msgspec.Struct, frozen=True, rename="camel"):
    """A jobKey or an executionId that was not changed, and why."""

    item: str
    reason: str


class Worked(msgspec.Struct, frozen=True):
    """The result of one call. `cursor`: the position behind which the next call goes on; None behind the last item.

    `ready_at`: no other call of the operation begins before (ms).
    """

    matched: int
    changed: int
    passed: Sequence[Passed]
    cursor: str | None
    ready_at: int


class Operation(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The record of one operation, changed only by compare-and-set on its revision.

    `since_at`: of its client, if another had the id before (ms). `matched`, `changed` and `passed_count` are those of
    the `calls` that ended. `uncertain` calls may have changed up to MOST_OF_A_CALL items more, each.
    """

    client_id: str
    operation_id: str
    kind: Kind
    meant: Meant
    made_at: int
    made_by: str
    max_per_second: float
    expires_at: int
    since_at: int = 0
    cancels_waiting: bool = False
    reason: str | None = None
    stage: Stage = Stage.RUNNING
    revision: int = 1
    #: The position behind which the next call goes on; None: none has ended.
    cursor: str | None = None
    matched: int = 0
    changed: int = 0
    passed_count: int = 0
    passed: tuple[Passed, ...] = ()
    calls: int = 0
    uncertain: int = 0
    #: The sweep that has a call under way, until when at the latest (ms); empty: none has.
    lease: str = ""
    leased_until: int = 0
    #: No call begins before (ms).
    next_at: int = 0
    #: Why the last call changed nothing, or why the operation ended.
    fault: str | None = None
    failures: int = 0
    failing_since: int | None = None
    ended_at: int | None = None
    stopped_by: str | None = None

    @property
    def is_over(self) -> bool:
        """Whether no call of it will ever begin."""
        return self.stage in (Stage.STOPPED, Stage.DONE, Stage.FAILED)

    @property
    def is_begun(self) -> bool:
        """Whether a call of it has been made, or tried."""
        return self.next_at > 0

    @property
    def is_about_jobs(self) -> bool:
        """Whether it changes named jobs, and not dead executions."""
        return self.kind in (Kind.PAUSE_JOBS, Kind.RESUME_JOBS, Kind.CANCEL_JOBS)

    def is_taken(self, now: int) -> bool:
        """Whether a sweep may have a call of it under way."""
        return bool(self.lease) and self.leased_until >= now

    def call_size(self, rate: float) -> int:
        """How many items one call has at a rate."""
        return max(1, min(MOST_OF_A_CALL, math.ceil(rate * CALL_SECONDS)))


class Open(msgspec.Struct, frozen=True, rename="camel"):
    """The operations of a client that sweeps look at: when each was put here (ms), by operationId."""

    client_id: str
    since: dict[str, int] = {}


def taken(before: Operation, lease: str, until: int) -> Operation:
    """The record of an operation whose next call begins. A lease that stands in it is of a call that has no result."""
    return _written(before, lease=lease, leased_until=until, uncertain=before.uncertain + bool(before.lease))


def worked(before: Operation, result: Worked, now: int) -> Operation:
    """The record behind a call that ended."""
    after = _written(
        before,
        **_NO_LEASE,
        cursor=result.cursor,
        matched=before.matched + result.matched,
        changed=before.changed + result.changed,
        passed_count=before.passed_count + len(result.passed),
        passed=(*before.passed, *map(_cut, result.passed))[:MOST_PASSED],
        calls=before.calls + 1,
        next_at=result.ready_at,
        fault=None,
        failures=0,
        failing_since=None,
    )
    return ended(after, Stage.DONE, now) if result.cursor is None else _stopped_if_asked(after, now)


def held_back(before: Operation, why: str, until: int, now: int) -> Operation:
    """The record behind a call that a cap refused before it changed anything."""
    return _stopped_if_asked(_written(before, **_NO_LEASE, next_at=until, fault=why[:LONGEST_REASON]), now)


def failed(before: Operation, why: str, now: int) -> Operation:
    """The record behind a call that failed, and may have changed something. The next one has the same items."""
    wait_ms = min(FIRST_WAIT_MS * 2 ** min(before.failures, 20), LONGEST_WAIT_MS)
    since = now if before.failing_since is None else before.failing_since
    after = _written(
        before,
        **_NO_LEASE,
        uncertain=before.uncertain + 1,
        failures=before.failures + 1,
        failing_since=since,
        next_at=now + wait_ms,
        fault=why[:LONGEST_REASON],
    )
    return ended(after, Stage.FAILED, now) if now - since >= GIVEN_UP_MS else _stopped_if_asked(after, now)


def stopped(before: Operation, by: str, now: int) -> Operation:
    """The record of an operation that somebody stops: at once, or behind the call that is under way."""
    if before.is_taken(now):
        return _written(before, stage=Stage.STOPPING, stopped_by=by)
    after = _written(before, **_NO_LEASE, stopped_by=by, uncertain=before.uncertain + bool(before.lease))
    return ended(after, Stage.STOPPED, now)


def ended(before: Operation, stage: Stage, now: int, why: str | None = None) -> Operation:
    """The record of an operation that is over."""
    fault = before.fault if why is None else why[:LONGEST_REASON]
    return _written(before, stage=stage, ended_at=now, fault=fault, expires_at=now + KEPT_MS)


_NO_LEASE: dict[str, Any] = {"lease": "", "leased_until": 0}


def _written(before: Operation, **changes: Any) -> Operation:
    return msgspec.structs.replace(before, revision=before.revision + 1, **changes)


def _stopped_if_asked(after: Operation, now: int) -> Operation:
    return ended(after, Stage.STOPPED, now) if after.stage is Stage.STOPPING else after


def _cut(one: Passed) -> Passed:
    return Passed(one.item, one.reason[:LONGEST_REASON])
