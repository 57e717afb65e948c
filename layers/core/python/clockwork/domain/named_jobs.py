"""Named jobs: their schedule and state, and the version that ties each pointer and execution to one definition."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

import msgspec

from clockwork.domain import ids, keys
from clockwork.domain.jobs import Occurrence, Payload, RecordLevel, RetryPolicy, Target
from clockwork.domain.ordering import row_id_of
from clockwork.domain.recurrence import Fire, Recurrence

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

    target: Target
    payload: Payload
    #: Always `full`. A row of version 0.1.0 may say `none`: what it fires from now on is recorded all the same. The
    #: stored text stays, since the digest of the definition, by which a backfill counts, is made of it.
    record: RecordLevel
    at: int | None = None
    recurrence: Recurrence | None = None
    retry_policy: RetryPolicy = RetryPolicy()
    signing_secrets: tuple[str, ...] = ()
    tags: dict[str, str] = {}
    catch_up: CatchUp = "latest"
    catch_up_window_seconds: float = 86_400
    overlap: Overlap = "allow"
    relevancy_window_seconds: float | None = None
    retention_days: int | None = None
    #: An ordered job has both `ordering_key` and `sequence`.
    ordering_key: str | None = None
    sequence: int | None = None
    #: The target of the callback of each execution that ends DEAD.
    on_failure: Target | None = None


class NamedJob(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A named job as stored: the single source of truth about it.

    `as_sent` is its definition as the client wrote it: the api Lambda compares repeats of the request with it. The
    chain of fires goes on strictly after `chain_after_at` (a base instant, ms), with `chain_ordinal` fires before that.
    A fire that was due at or before `active_from_at` (ms) was missed in a pause.
    """

    client_id: str
    job_key: str
    incarnation: int
    revision: int
    version: str
    state: JobState
    partition_id: str
    definition: Definition
    as_sent: bytes
    created_at: int
    changed_at: int
    chain_after_at: int
    chain_ordinal: int = 0
    active_from_at: int = 0
    #: Up to when (ms) its fires had been released when it was paused. A change during the pause leaves it as it is,
    #: unless it changes the schedule.
    paused_at: int | None = None
    reason: str | None = None

    @property
    def job_id(self) -> str:
        """The jobId, under which its executions are stored."""
        return ids.NamedJobId(self.client_id, self.job_key, self.incarnation).job_id

    @property
    def definition_digest(self) -> str:
        """The digest of its definition: it differs between definitions, and pauses do not change it."""
        return ids.digest_of([_canonical(self.definition)])[:22]

    @property
    def is_alive(self) -> bool:
        """True unless it is CANCELLED: its key is taken."""
        return self.state is not JobState.CANCELLED


class Backfill(msgspec.Struct, frozen=True, rename="camel"):
    """A past range of a schedule that is executed again, up to `to_at` (ms).

    Its `index`-th fire runs at `started_at` (ms) + `index` / `per_second`. `definition` is the digest of the definition
    for which the client asked for the backfill: once the job has another definition, the backfill ends.
    """

    backfill_id: str
    incarnation: int
    definition: str
    to_at: int
    started_at: int
    per_second: float
    index: int = 0

    @property
    def run_at(self) -> int:
        """When its next fire is to run (ms)."""
        return self.started_at + int(self.index * 1000 / self.per_second)


class Pointer(msgspec.Struct, frozen=True, tag="pointer", rename="camel", omit_defaults=True):
    """An element of a timeline row that points to a named job: its next fire, and the job's version at that time.

    It counts only if its version and partition are those of the job; otherwise its reader drops it. The pointer of a
    backfill has the backfill's id as its version, and counts as long as the job lives under the same definition.
    """

    client_id: str
    job_key: str
    version: str
    fire: Fire
    backfill: Backfill | None = None
    #: The sequence of an ordered job; None for any other.
    sequence: int | None = None

    @property
    def key(self) -> str:
        """The key of its row. It derives from the version, so that a write which loses overwrites no valid pointer."""
        run_at = self.fire.due_at if self.backfill is None else self.backfill.run_at
        row_id = ids.derive("pointer", self.client_id, self.job_key, self.version)
        return keys.row_key(run_at, row_id_of(row_id, self.sequence))

    def counts_for(self, job: NamedJob, partition_id: str) -> bool:
        """Whether it is the pointer of the job as it is now. Any other one's job was refused, replaced or moved."""
        if self.backfill is not None:
            asked = (self.backfill.incarnation, self.backfill.definition)
            return job.is_alive and asked == (job.incarnation, job.definition_digest)
        own = (job.state, job.version, job.partition_id)
        return own == (JobState.ACTIVE, self.version, partition_id)


def versioned(job: NamedJob) -> NamedJob:
    """The job with its version: a digest of all that decides its fires, so two jobs that differ never share one."""
    # All fields that decide what is delivered when. The version itself and fields that only describe the job are not.
    decisive = msgspec.structs.replace(job, version="", as_sent=b"", reason=None)
    digest = ids.digest_of([_canonical(decisive)])
    return msgspec.structs.replace(job, version=digest[:22])


def _canonical(value: NamedJob | Definition) -> bytes:
    """The same bytes for equal values: a duration of 60 becomes 60.0 when stored and read, and must stay the same."""
    encoded = msgspec.msgpack.encode(value)
    return msgspec.msgpack.encode(msgspec.msgpack.decode(encoded, type=type(value)))


def occurrence_of(job: NamedJob, due_at: int) -> Occurrence:
    """The occurrence of the job that is due at `due_at` (ms), with all that its delivery needs. It is recorded."""
    definition = job.definition
    return Occurrence(
        client_id=job.client_id,
        due_at=due_at,
        created_at=job.changed_at,
        target=definition.target,
        payload=definition.payload,
        retry_policy=definition.retry_policy,
        signing_secrets=definition.signing_secrets,
        tags=definition.tags,
        skip_overlap=definition.overlap == "skip",
        relevancy_window_seconds=definition.relevancy_window_seconds,
        retention_days=definition.retention_days,
        ordering_key=definition.ordering_key,
        sequence=definition.sequence or 0,
        on_failure=definition.on_failure,
    )
