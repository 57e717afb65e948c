"""Named jobs: a schedule, control over it, and the version that ties every pointer and execution to one definition."""

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
    """Where a named job stands. COMPLETED is never stored: it is ACTIVE with nothing more to fire."""

    ACTIVE = "ACTIVE"
    PAUSED = "PAUSED"
    COMPLETED = "COMPLETED"
    CANCELLED = "CANCELLED"  # a tombstone: the key used again is a new incarnation


class Definition(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """What a named job does, with all its instants resolved: either `at` (ms, once) or `recurrence`."""

    target: Target
    payload: Payload
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
    #: An ordered job has both.
    ordering_key: str | None = None
    sequence: int | None = None
    #: Where a callback of each execution goes that ends DEAD.
    on_failure: Target | None = None


class NamedJob(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The truth about a named job. `as_sent` is its definition as the client wrote it, to compare repeats with.

    The chain of fires goes on strictly after `chain_after_at` (a base instant, ms), `chain_ordinal` fires having been
    before. What was due at or before `active_from_at` was missed in a pause.
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
    #: Up to when (ms) its fires had been released before it was paused: a change meanwhile does not move it.
    paused_at: int | None = None
    reason: str | None = None
    #: Until then (ms) something of a version before this one may start that leaves no claim (record level `none`).
    unrecorded_until: int = 0

    @property
    def job_id(self) -> str:
        """The id under which its executions are kept."""
        return ids.NamedJobId(self.client_id, self.job_key, self.incarnation).job_id

    @property
    def definition_digest(self) -> str:
        """Tells one definition from another, whatever pauses were between."""
        return ids.digest_of([_canonical(self.definition)])[:22]

    @property
    def is_alive(self) -> bool:
        """The key is taken."""
        return self.state is not JobState.CANCELLED


class Backfill(msgspec.Struct, frozen=True, rename="camel"):
    """A past range that is fired again: up to `to_at` (ms), its `index`-th fire at `started_at` + index / rate.

    `definition` is the digest of the definition that was asked to be filled in: under another one it ends.
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
    """The timeline's hold on a named job: its next fire, and the version for which that was so.

    It counts only if its version and partition are those of the job; otherwise it is dropped when read. That of a
    backfill has the backfill's id for a version, and counts as long as the job lives under the same definition.
    """

    client_id: str
    job_key: str
    version: str
    fire: Fire
    backfill: Backfill | None = None
    #: Of an ordered job.
    sequence: int | None = None

    @property
    def key(self) -> str:
        """The key of its row. The id holds the version, so that a losing write overwrites no valid pointer."""
        run_at = self.fire.due_at if self.backfill is None else self.backfill.run_at
        row_id = ids.derive("pointer", self.client_id, self.job_key, self.version)
        return keys.row_key(run_at, row_id_of(row_id, self.sequence))

    def counts_for(self, job: NamedJob, partition_id: str) -> bool:
        """Whether it is the job's own as that stands: any other was refused, replaced or moved."""
        if self.backfill is not None:
            asked = (self.backfill.incarnation, self.backfill.definition)
            return job.is_alive and asked == (job.incarnation, job.definition_digest)
        own = (job.state, job.version, job.partition_id)
        return own == (JobState.ACTIVE, self.version, partition_id)


def versioned(job: NamedJob) -> NamedJob:
    """The job with the version that all that decides its fires makes: two that differ never share one."""
    # All that decides what fires when; the version itself and what only tells of the job are left out.
    decisive = msgspec.structs.replace(job, version="", as_sent=b"", reason=None, unrecorded_until=0)
    digest = ids.digest_of([_canonical(decisive)])
    return msgspec.structs.replace(job, version=digest[:22])


def _canonical(value: NamedJob | Definition) -> bytes:
    """One text for equal values: a duration of 60 becomes 60.0 when it is stored and read, and is the same duration."""
    encoded = msgspec.msgpack.encode(value)
    return msgspec.msgpack.encode(msgspec.msgpack.decode(encoded, type=type(value)))


def occurrence_of(job: NamedJob, due_at: int) -> Occurrence:
    """One occurrence of the job with all that its delivery needs."""
    definition = job.definition
    return Occurrence(
        client_id=job.client_id,
        due_at=due_at,
        created_at=job.changed_at,
        target=definition.target,
        payload=definition.payload,
        record=definition.record,
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
