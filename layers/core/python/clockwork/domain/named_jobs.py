"""Named jobs: their schedule and state, the revision that ties a release to its row, and the pointers of a chain."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

import msgspec

from clockwork.domain import ids, keys
from clockwork.domain.closings import Closing
from clockwork.domain.jobs import JobTarget, Occurrence
from clockwork.domain.ordering import row_id_of
from clockwork.domain.policies import Completion, Precision, RetryPolicy
from clockwork.domain.recurrence import Fire, Recurrence
from clockwork.domain.workflows.definition import targets_in
from clockwork.targets.http import HttpTarget
from clockwork.targets.message import Payload
from clockwork.targets.registry import Target

CatchUp = Literal["all", "latest", "none"]
Overlap = Literal["allow", "skip"]


class JobState(StrEnum):
    """The state of a named job. COMPLETED is never stored: it stands for an ACTIVE job with no fire left."""

    ACTIVE = "ACTIVE"
    PAUSED = "PAUSED"
    COMPLETED = "COMPLETED"
    CANCELLED = "CANCELLED"  # a tombstone: a job created later under the same key is a new incarnation


class Definition(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The definition of a named job, with all its instants resolved: either `at` (ms, once) or `recurrence`."""

    target: JobTarget
    payload: Payload
    at: int | None = None
    recurrence: Recurrence | None = None
    retry_policy: RetryPolicy = RetryPolicy()
    signing_secrets: tuple[str, ...] = ()
    tags: dict[str, str] = {}
    catch_up: CatchUp = "latest"
    catch_up_window_seconds: float = 86_400
    overlap: Overlap = "allow"
    relevancy_window_seconds: float | None = None
    precision: Precision = "millisecond"
    retention_days: int | None = None
    #: An ordered job has both `ordering_key` and `sequence`.
    ordering_key: str | None = None
    sequence: int | None = None
    #: The target of the callback of each execution that ends DEAD.
    on_failure: Target | None = None
    completion: Completion | None = None

    @property
    def traceparent(self) -> str:
        """The trace context that its deliveries go on with; empty: each has its own."""
        targets = (*targets_in(self.target), self.on_failure)
        return next((one.traceparent for one in targets if isinstance(one, HttpTarget) and one.traceparent), "")


class NamedJob(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A named job as stored: the single source of truth about it.

    A caller that writes the row has won a compare-and-set on `stamp`, so a `revision` is one definition and one
    schedule. `as_sent` is its definition as the client wrote it: the api Lambda compares repeats of the request with
    it. The chain of fires goes on strictly after `chain_after_at` (a base instant, ms), with `chain_ordinal` fires
    before that.
    """

    client_id: str
    job_key: str
    incarnation: int
    revision: int
    state: JobState
    partition_id: str
    definition: Definition
    as_sent: bytes
    created_at: int
    changed_at: int
    chain_after_at: int
    chain_ordinal: int = 0
    #: The digest under which pointers count: it is drawn anew when the timing changes, and when a pause ends.
    series: str = ""
    #: When its schedule last began or was resumed (ms). Age and relevancy window of a fire count from there at least,
    #: and every fire of the chain that is due by then is delivered, however late it is read.
    asked_at: int
    #: When its schedule as it is now was asked for (ms), pauses aside: lateness counts from there at least. None: then.
    begun_at: int | None = None
    #: The latest boundary of its changes (ms), which divides what is due before a change from what is due after it.
    #: Boundaries never go back, though the clocks of two callers differ.
    boundary_at: int = 0
    #: Paused: what is due after this (ms) does not start.
    paused_at: int | None = None
    #: The principal who paused it, or gave the reason that it has now.
    paused_by: str | None = None
    #: Fires of the chain that are due before this (ms) were missed in a pause, and stay undelivered.
    skips_until: int = 0
    closings: tuple[Closing, ...] = ()
    #: The revision with which the job became `overlap: skip`, and its boundary (ms): what began before is not named by
    #: its turnstile. 0: it was created so, or never was.
    skips_from: int = 0
    skips_from_at: int = 0
    reason: str | None = None
    #: Of a client that was deleted: when (ms) TTL may delete the tombstone. 0: never.
    expires_at: int = 0

    @property
    def job_id(self) -> str:
        """The jobId, under which its executions are stored."""
        return ids.NamedJobId(self.client_id, self.job_key, self.incarnation).job_id

    @property
    def stamp(self) -> str:
        """The text by which a store tells this row from every other one of the key."""
        return f"{self.incarnation}.{self.revision}"

    @property
    def begun_since(self) -> int:
        """When its schedule as it is now was asked for (ms), pauses aside."""
        return self.asked_at if self.begun_at is None else self.begun_at

    def held_from(self, due_at: int) -> int | None:
        """Since when (ms) a pause that has ended held back the fire that is due at `due_at`; None if none did."""
        since = max(due_at, self.begun_since)
        return since if since < self.asked_at else None

    @property
    def is_alive(self) -> bool:
        """True unless it is CANCELLED: its key is taken."""
        return self.state is not JobState.CANCELLED


class Backfill(msgspec.Struct, frozen=True, rename="camel"):
    """A past range of a schedule that is executed again, up to `to_at` (ms).

    Its `index`-th fire, of `count` in all, runs at `started_at` (ms) + `index` / `per_second`. `timing` is the digest
    of the timing for which the client asked for the backfill: once the job has another timing, the rest is skipped.
    """

    backfill_id: str
    incarnation: int
    timing: str
    to_at: int
    started_at: int
    per_second: float
    index: int = 0
    count: int = 0

    @property
    def run_at(self) -> int:
        """When its next fire is to run (ms)."""
        return self.started_at + int(self.index * 1000 / self.per_second)


class Pointer(msgspec.Struct, frozen=True, tag="pointer", rename="camel", omit_defaults=True):
    """An element of a timeline row that points to a named job: its next fire, and the job's series at that time.

    It counts only if its series and partition are those of the job; otherwise its reader drops it. The pointer of a
    backfill has the backfill's id as its series, and counts for as long as the job lives.
    """

    client_id: str
    job_key: str
    series: str
    fire: Fire
    backfill: Backfill | None = None
    #: The sequence of an ordered job; None for any other.
    sequence: int | None = None
    #: Its row lies here (ms) if its fire came to lie where the shard has been read already.
    read_at: int = 0

    @property
    def key(self) -> str:
        """The key of its row. It derives from the series, so that a write which loses overwrites no valid pointer."""
        run_at = max(self.fire.due_at, self.read_at) if self.backfill is None else self.backfill.run_at
        row_id = ids.derive("pointer", self.client_id, self.job_key, self.series)
        return keys.row_key(run_at, row_id_of(row_id, self.sequence))

    def counts_for(self, job: NamedJob, partition_id: str) -> bool:
        """Whether it is a pointer of the job as it is now. Any other one's job was refused, replaced or moved."""
        if self.backfill is not None:
            return job.is_alive and self.backfill.incarnation == job.incarnation
        own = (job.state, job.series, job.partition_id)
        return own == (JobState.ACTIVE, self.series, partition_id)


class Turnstile(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The known state of a job's executions while it is `overlap: skip`, changed by compare-and-set.

    `last`: the executionId that was let through last. `ended_before`: what lies before this executionId is not under
    way; empty: nothing is known. Both count while `skips_from` is the revision with which the job became `skip`.
    """

    job_id: str
    last: str | None = None
    ended_before: str = ""
    skips_from: int = 0
    #: How many times it was written: no two of them are the same.
    revision: int = 1
    #: When TTL may delete it (ms). Without it the records tell what is under way.
    expires_at: int = 0


def occurrence_of(job: NamedJob, due_at: int, asked_at: int | None = None) -> Occurrence:
    """The occurrence of the job that is due at `due_at` (ms), with all that its delivery needs. It is recorded.

    `asked_at`: when it was asked for (ms), if not with the schedule.
    """
    definition = job.definition
    held_from = job.held_from(due_at) if asked_at is None else None
    # The first ones are not named, as in `domain.requests.create`.
    return Occurrence(
        job.client_id,
        due_at,
        job.asked_at if asked_at is None else asked_at,
        definition.target,
        definition.payload,
        retry_policy=definition.retry_policy,
        signing_secrets=definition.signing_secrets,
        tags=definition.tags,
        relevancy_window_seconds=definition.relevancy_window_seconds,
        precision=definition.precision,
        retention_days=definition.retention_days,
        ordering_key=definition.ordering_key,
        sequence=definition.sequence or 0,
        on_failure=definition.on_failure,
        completion=definition.completion,
        held_from=held_from,
    )
