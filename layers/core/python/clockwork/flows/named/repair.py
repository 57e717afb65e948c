"""Repair the chain of a named job that lost its pointer: without a check it would never fire again."""

from __future__ import annotations

import logging

from clockwork.domain import keys
from clockwork.domain.fires.chains import fire_after, first_pointer, ordinal_at, pointer_to
from clockwork.domain.named_jobs import JobState, NamedJob, Pointer
from clockwork.domain.ordering import LONGEST_RETRYING_SECONDS
from clockwork.domain.releases import LONGEST_DELAY_SECONDS
from clockwork.domain.timeline import Shard
from clockwork.flows.named.advance import advance_past_horizon, put_pointer
from clockwork.flows.timeline.shards import check_shards
from clockwork.flows.world import World

log = logging.getLogger(__name__)

#: Between cursor and horizon a chain has its pointer at one of at most so many fires: one a second, plus a jitter.
MOST_CANDIDATES = 2_000
#: So many of a job's newest records are searched for one of its version.
RECORDS_READ = 20
#: A one-shot that left no record counts as lost this long after its instant (ms).
UNFIRED_AFTER_MS = 300_000
#: An ordered one-shot may leave no record for as long as the job ahead of it is retried (ms).
WAITING_AFTER_MS = LONGEST_RETRYING_SECONDS * 1000


def check_chain(world: World, job: NamedJob) -> bool:
    """Repair the job's chain if its pointer is gone; returns whether it was."""
    if job.state is not JobState.ACTIVE:
        return False
    shard = check_shards(world, [job.partition_id])[job.partition_id]
    candidates = _candidates(job, shard)
    if not candidates and not _is_unfired(world, job):
        return False
    if any(world.timeline.find([(job.partition_id, pointer.key) for pointer in candidates])):
        return False
    log.error("chain repaired", extra={"action": "chain_repaired", "jobId": job.job_id})
    pointer = _last_known(world, job)
    if pointer is not None:
        put_pointer(world, job, pointer)
        advance_past_horizon(world, job, pointer, repairs=True)
    return True


def advance_again(world: World, job: NamedJob) -> None:
    """Do the steps after the write of this row again, in case the call that wrote it died before them.

    That call answered for the fires at or before the horizon of its time, which was less than the longest delay (900 s)
    ahead of it. The steps are repeated only for as long as a repeat counts as the same request, so that nothing fires
    again that fired long ago.
    """
    age_ms = world.clock.now() - job.changed_at
    is_young = age_ms < world.settings.idempotency_seconds * 1000
    if job.state is JobState.ACTIVE and is_young:
        advance_past_horizon(
            world, job, first_pointer(job), until=keys.edge_key(job.changed_at + LONGEST_DELAY_SECONDS * 1000)
        )
    check_chain(world, job)


def _is_unfired(world: World, job: NamedJob) -> bool:
    """Whether a one-shot's instant has passed without a record, as far as records tell."""
    at = job.definition.at
    if at is None:
        return False
    after_ms = UNFIRED_AFTER_MS if job.definition.ordering_key is None else WAITING_AFTER_MS
    if not after_ms <= world.clock.now() - max(at, job.changed_at) < _recorded_ms(world, job):
        return False
    return job.chain_after_at < at and not world.executions.list(job.job_id, 1, None)


def _candidates(job: NamedJob, shard: Shard) -> list[Pointer]:
    """The pointers between cursor and horizon and the first one beyond: a whole chain has its pointer among them."""
    pointers: list[Pointer] = []
    pointer = _pointer_from(job, keys.instant_of(shard.cursor))
    while pointer is not None and len(pointers) < MOST_CANDIDATES:
        if pointer.key > shard.cursor:
            pointers.append(pointer)
        if pointer.key > shard.horizon:
            break
        pointer = pointer_to(job, fire_after(job, pointer.fire.base_at, pointer.fire.ordinal))
    return pointers


def _last_known(world: World, job: NamedJob) -> Pointer | None:
    """The pointer at which to go on: at the last fire that left a record, or where records begin.

    Records absorb the fires that were released since.
    """
    for execution in world.executions.list(job.job_id, RECORDS_READ, None):
        if execution.execution_id.endswith(f".{job.version}"):
            return _pointer_from(job, execution.due_at)
    if job.definition.at is not None:
        return first_pointer(job)
    return _pointer_from(job, world.clock.now() - _recorded_ms(world, job))


def _recorded_ms(world: World, job: NamedJob) -> int:
    """For how long (ms) a record tells that a fire of the job was released.

    A row of version 0.1.0 at level `none` may have fired without any record, which then tells nothing.
    """
    return 0 if job.definition.record == "none" else world.execution_kept_ms(job.definition.retention_days)


def _pointer_from(job: NamedJob, due_at: int) -> Pointer | None:
    """The pointer to the first fire that may be due at `due_at` (ms) or later."""
    after_at = max(job.chain_after_at, due_at - _jitter_ms(job) - 1)
    return pointer_to(job, fire_after(job, after_at, ordinal_at(job, after_at)))


def _jitter_ms(job: NamedJob) -> int:
    recurrence = job.definition.recurrence
    return 0 if recurrence is None else recurrence.jitter_seconds * 1000
