"""Is the chain of a named job whole? A chain that lost its pointer never fires again unless somebody looks."""

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

#: Between cursor and horizon a chain has its pointer on one of so many fires at the most: one a second, and a jitter.
MOST_CANDIDATES = 2_000
#: How many of a job's newest records are searched for one of its version.
RECORDS_READ = 20
#: So long after its instant a one-shot that left no record is taken to be lost (ms).
UNFIRED_AFTER_MS = 300_000
#: An ordered one may leave none for as long as the one ahead of it is tried.
WAITING_AFTER_MS = LONGEST_RETRYING_SECONDS * 1000


def check_chain(world: World, job: NamedJob) -> bool:
    """Repair the job's chain if its pointer is gone; True if it was."""
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
    """Do again what the call that wrote this row had to do after it, in case it did not live to.

    It answered for what was at or before the horizon of its time, which was less than the longest delay ahead of it;
    and only for as long as a repeat counts as the same request, so that nothing fires again that fired long ago.
    """
    age_ms = world.clock.now() - job.changed_at
    is_young = age_ms < world.settings.idempotency_seconds * 1000
    if job.state is JobState.ACTIVE and is_young and not _is_known_to_go_on(world, job):
        advance_past_horizon(
            world, job, first_pointer(job), until=keys.edge_key(job.changed_at + LONGEST_DELAY_SECONDS * 1000)
        )
    check_chain(world, job)


def _is_known_to_go_on(world: World, job: NamedJob) -> bool:
    """Whether a pointer tells that the first fires were released: at level none it is put behind them, and no record
    would absorb them if they were released again.
    """
    if job.definition.record != "none":
        return False
    first = first_pointer(job)
    shard = check_shards(world, [job.partition_id])[job.partition_id]
    further = [(job.partition_id, p.key) for p in _candidates(job, shard) if p != first]
    return any(world.timeline.find(further))


def _is_unfired(world: World, job: NamedJob) -> bool:
    """Whether a job that fires once has passed its instant without a trace; at record level none nobody can tell."""
    at = job.definition.at
    if at is None or job.definition.record == "none":
        return False
    after_ms = UNFIRED_AFTER_MS if job.definition.ordering_key is None else WAITING_AFTER_MS
    kept_ms = world.execution_kept_ms(job.definition.retention_days)
    if not after_ms <= world.clock.now() - max(at, job.changed_at) < kept_ms:
        return False
    return job.chain_after_at < at and not world.executions.list(job.job_id, 1, None)


def _candidates(job: NamedJob, shard: Shard) -> list[Pointer]:
    """Pointers between cursor and horizon and the first one behind: that of a whole chain is among them."""
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
    """Where to go on: at the last fire that left a record, or where records begin; what fired since is absorbed.

    At level none nothing absorbs it, and it goes on now; but with a young row from its beginning, which whoever wrote
    it may have died over, or nobody would answer for what lay behind the horizon then.
    """
    for execution in world.executions.list(job.job_id, RECORDS_READ, None):
        if execution.execution_id.endswith(f".{job.version}"):
            return _pointer_from(job, execution.due_at)
    is_young = world.clock.now() - job.changed_at < LONGEST_DELAY_SECONDS * 1000
    if job.definition.at is not None or (is_young and job.definition.record == "none"):
        return first_pointer(job)
    kept_ms = world.execution_kept_ms(job.definition.retention_days) if job.definition.record == "full" else 0
    return _pointer_from(job, world.clock.now() - kept_ms)


def _pointer_from(job: NamedJob, due_at: int) -> Pointer | None:
    """The pointer to the first fire that may be due at `due_at` or later."""
    after_at = max(job.chain_after_at, due_at - _jitter_ms(job) - 1)
    return pointer_to(job, fire_after(job, after_at, ordinal_at(job, after_at)))


def _jitter_ms(job: NamedJob) -> int:
    recurrence = job.definition.recurrence
    return 0 if recurrence is None else recurrence.jitter_seconds * 1000
