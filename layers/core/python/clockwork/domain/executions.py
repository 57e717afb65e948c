"""Executions: the record of an occurrence that is being carried out, and its states."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Literal

import msgspec

from clockwork.domain.jobs import NodeOf, Occurrence
from clockwork.domain.policies import NO_BUDGET, Budget
from clockwork.domain.waits import NO_PARKING, NO_WAITING, Parking, Waiting


class State(StrEnum):
    """The state of an execution or of one of its attempts.

    A waiting one has a `next_attempt_at`, PARKED only for a retry.
    """

    PENDING = "PENDING"  # waiting for its first attempt, or again after a redrive; a deliverer's claim moves it on
    RUNNING = "RUNNING"  # claimed; its deliverer's outcome moves it on, or the next message once the claim has ended
    FAILED = "FAILED"  # the target refused or broke off; the next attempt's claim moves it on
    TIMED_OUT = "TIMED_OUT"  # the target did not answer in time; the next attempt's claim moves it on
    HANDED_BACK = "HANDED_BACK"  # its worker gave it back, at no cost of an attempt; the next one's claim moves it on
    WORKER_LOST = "WORKER_LOST"  # its deliverer ended without an outcome; the next attempt's claim moves it on
    PARKED = "PARKED"  # in a row, no attempt used up; the sweeper unparks it, then a deliverer's claim moves it on
    SUCCEEDED = "SUCCEEDED"  # final
    CANCELLED = "CANCELLED"  # final
    EXPIRED = "EXPIRED"  # final: too late to be of use
    SKIPPED = "SKIPPED"  # final: not wanted, and `reason` says why
    DEAD = "DEAD"  # final until its client redrives it

    # Each save and each claim looks states up in sets and tables, and that of Enum is slow: it is written in Python.
    __hash__ = str.__hash__


Source = Literal["job", "record"]
DAY_MS = 86_400_000
#: Characters kept of an error. The errors of a hundred attempts then leave room for the largest payload in 400 KB.
LONGEST_ERROR = 500
#: A record keeps at most this many of the last attempts, however often the execution is redriven.
ATTEMPTS_KEPT = 100
#: A record keeps the excerpts of answers for only this many of the last attempts, so that it stays small.
EXCERPTS_KEPT = 3
FINAL = frozenset({State.SUCCEEDED, State.CANCELLED, State.EXPIRED, State.SKIPPED, State.DEAD})
WAITING = frozenset({State.PENDING, State.PARKED, State.FAILED, State.TIMED_OUT, State.HANDED_BACK, State.WORKER_LOST})


class Attempt(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """One attempt that has ended. Instants are in ms.

    Only a first attempt has a lateness: since its due instant, or since the create or the redrive if that came later.
    """

    number: int
    state: State
    started_at: int
    ended_at: int
    lateness_ms: int = 0
    status_code: int | None = None
    error: str | None = None
    response_excerpt: str | None = None


def last_of(attempts: tuple[Attempt, ...]) -> tuple[Attempt, ...]:
    """The attempts that a record keeps of all attempts so far. Dropped ones still count in `Attempt.number`."""
    old, recent = attempts[-ATTEMPTS_KEPT:-EXCERPTS_KEPT], attempts[-EXCERPTS_KEPT:]
    return tuple(msgspec.structs.replace(attempt, response_excerpt=None) for attempt in old) + recent


class Awaited(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """The part of a claim whose attempt ends by a report: its lease, and its news. Instants are in ms.

    Each sign of life moves the end of the claim by `heartbeat_ms`, never beyond `deadline_at`. From `accepted_at` on
    the claim is the receiver's: it outlives the deliverer.
    """

    heartbeat_ms: int
    deadline_at: int
    accepted_at: int | None = None
    #: The news of the last heartbeat: the progress (0 to 1), and a message.
    progress: float | None = None
    message: str | None = None
    #: When these were written last (ms).
    told_at: int | None = None
    #: The pool whose worker has it, and the name that this gives itself; None: a target delivered it to a receiver.
    pool: str | None = None
    worker_id: str | None = None
    #: The permit that the worker holds meanwhile, where the client has a concurrency limit.
    permit: int | None = None
    #: A repeat of a cancel has sent the watch for the end of its grace once more: other repeats need not.
    watched_again: bool = False
    #: It is the run of a workflow that has begun: its nodes are at work, and no report ends it.
    is_run: bool = False


class Claimed(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """The claim of the attempt that runs: the token of its deliverer or worker, its end (ms) and its start (ms).

    `awaited`: None if the target's answer ends the attempt. `lateness_ms`: of a first attempt, if its
    record keeps no occurrence (`late_ms`).
    """

    claimant: str
    until: int
    started_at: int
    awaited: Awaited | None = None
    lateness_ms: int | None = None


class Report(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """The receiver's report on an attempt at `at` (ms): SUCCEEDED with a `result` (JSON), FAILED, or CANCELLED.

    A worker may also report HANDED_BACK. `claimant` is that of the attempt's claim, by which a repeat is recognised. A
    failure that is not `retryable` is permanent. `retry_after_seconds` is the least wait for the next attempt.
    """

    claimant: str
    state: State
    at: int
    result: bytes | None = None
    error: str | None = None
    retryable: bool = True
    retry_after_seconds: float | None = None


class Skipped(msgspec.Struct, frozen=True, rename="camel"):
    """A stretch of fires that are not delivered: the first and last instant at which one was due (ms), and how many."""

    from_at: int
    to_at: int
    count: int
    reason: str


class End(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """The causes of an end, and what follows from it. Instants are in ms.

    A callback is due at `dead_at` on the shard `dead_shard`, whichever Lambda puts it: the instant of the death, and
    the shard of the release with which the execution died.
    """

    dead_at: int | None = None
    dead_shard: str | None = None
    #: It is final for releases of earlier revisions of its named job. One of this revision or later goes on from it.
    ended_by: int | None = None
    skipped: Skipped | None = None
    #: The report on the last attempt, if that ends or ended by callback. A failure is noted before the attempt ends.
    report: Report | None = None
    #: It is in the index of its client's runs, which it came into when it ended for the first time.
    indexed: bool = False


class Kept(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """The values of which a release is made again, where a record is DEAD, redriven, awaited or handed back.

    `raw`: bytes that could not be read. `nodes`: the names of a run's nodes, once nothing else of it is kept.
    The fields between them are those of the release (`Of`).
    """

    occurrence: Occurrence | None = None
    raw: bytes | None = None
    partition_id: str | None = None
    revision: int | None = None
    source: Source = "job"
    node: NodeOf | None = None
    nodes: tuple[str, ...] = ()


NO_END, NOTHING_KEPT = End(), Kept()


class Execution(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """The record of one occurrence, changed by compare-and-set.

    Every change raises `revision` by one, and is refused unless it was made of the latest revision. `attempt` is the
    number of the last attempt claimed (0 before the first); `attempts` are the last attempts that have ended. Below
    these fields are the parts. A part is None or empty where it does not apply, so no state has what another one left.
    Only what is RUNNING has a `claim`, and what has ended waits for nothing.
    """

    job_id: str
    execution_id: str
    client_id: str
    due_at: int
    state: State
    revision: int
    expires_at: int
    attempt: int = 0
    attempts: tuple[Attempt, ...] = ()
    cancel_noted_at: int | None = None
    reason: str | None = None
    #: When its anonymous job was created (ms), which a redrive does not change.
    created_at: int | None = None
    claim: Claimed | None = None
    budget: Budget = NO_BUDGET
    waits: Waiting = NO_WAITING
    parking: Parking = NO_PARKING
    end: End = NO_END
    kept: Kept = NOTHING_KEPT

    def changed(self, **fields: Any) -> Execution:
        """The record with other values of some fields, one revision on."""
        return msgspec.structs.replace(self, revision=self.revision + 1, **fields)

    def renewed(self, until: int, awaited: Awaited | None = None) -> Execution:
        """The record whose claim ends at `until` (ms), perhaps with other notes, one revision on."""
        assert self.claim is not None, "only a claim is renewed"
        claim = msgspec.structs.replace(self.claim, until=until, awaited=awaited or self.claim.awaited)
        return self.changed(claim=claim)

    @property
    def is_final(self) -> bool:
        """True if only a redrive can change its state."""
        return self.state in FINAL

    @property
    def spent(self) -> int:
        """How many attempts, with the last one, count against `maxAttempts`, but for lost deliverers."""
        return self.attempt - self.budget.start - self.budget.handbacks

    @property
    def is_first_attempt(self) -> bool:
        """True if `attempt` is the first one, or the first after a redrive: the only kind that has a lateness."""
        return self.attempt == self.budget.start + 1

    @property
    def is_accepted(self) -> bool:
        """True if its attempt is at work at the receiver, which has the claim."""
        awaited = None if self.claim is None else self.claim.awaited
        return awaited is not None and awaited.accepted_at is not None

    @property
    def claimant(self) -> str | None:
        """The token of the claim under which it runs."""
        return None if self.claim is None else self.claim.claimant

    @property
    def awaited(self) -> Awaited | None:
        """The lease and the news of the attempt that runs, if a report ends it."""
        return None if self.claim is None else self.claim.awaited

    @property
    def is_forced(self) -> bool:
        """True if a cancel has ended its last attempt, and not the receiver that was at work."""
        return bool(self.attempts) and self.attempts[-1].state is State.CANCELLED and self.end.report is None

    @property
    def needs_attention(self) -> bool:
        """True if it is DEAD and was not discarded, or was redriven and no deliverer has claimed it yet."""
        is_kept = self.kept.occurrence is not None or self.kept.raw is not None
        return is_kept and self.state in (State.DEAD, State.PENDING)

    @property
    def attention_key(self) -> str:
        """Its sort key among its client's executions that need attention: by due instant."""
        return f"{self.due_at:013d}#{self.execution_id}"


def kept_until(at: int, retention_days: int | None, otherwise_at: int) -> int:
    """The TTL (ms) of the record of an execution that ended at `at`: `retention_days` later, or else `otherwise_at`."""
    return otherwise_at if retention_days is None else at + retention_days * DAY_MS


class Outcome(msgspec.Struct, frozen=True):
    """The result of one attempt at a target. A `permanent` failure is not tried again.

    With the state PENDING no attempt was made: nothing was free for it, and it does not count.
    `retry_after_seconds` is the wait that the target asked for. `answer`: the JSON of a success that a workflow's node
    keeps. `error` and `excerpt` never hold a secret. `told`: it is the service's word on what an earlier attempt began.
    RUNNING then, or WORKER_LOST if the service knows nothing of it.
    """

    state: State
    started_at: int
    ended_at: int
    permanent: bool = False
    status_code: int | None = None
    error: str | None = None
    excerpt: str | None = None
    retry_after_seconds: float | None = None
    answer: bytes | None = None
    told: bool = False

    def as_attempt(self, number: int, lateness_ms: int = 0) -> Attempt:
        """The attempt of this number, as its record keeps it."""
        return Attempt(
            number=number,
            state=self.state,
            started_at=self.started_at,
            ended_at=self.ended_at,
            lateness_ms=lateness_ms,
            status_code=self.status_code,
            error=None if self.error is None else self.error[:LONGEST_ERROR],
            response_excerpt=self.excerpt,
        )
