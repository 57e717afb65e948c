"""Repair the chain of a named job: settle it again, catch up with what nobody released, find a pointer that is lost."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from clockwork.domain import keys
from clockwork.domain.fires.chains import expand, fire_after, first_due_after, first_pointer, last_fire, pointer_to
from clockwork.domain.ids import ONLY_RUN, ExecutionId, decode_execution, only_execution
from clockwork.domain.lifecycle.awaiting import CLAIM_GRACE_MS
from clockwork.domain.named_jobs import JobState, NamedJob, Pointer
from clockwork.domain.ordering import LONGEST_RETRYING_SECONDS
from clockwork.domain.recurrence import Work
from clockwork.domain.releases import LONGEST_DELAY_SECONDS, Release
from clockwork.domain.timeline import Shard
from clockwork.flows.named.advance import advance_past_horizon, carry_out, put_pointer
from clockwork.flows.named.marks import marked
from clockwork.flows.timeline.shards import check_shards
from clockwork.flows.world import World

log = logging.getLogger(__name__)

#: Between cursor and horizon a chain has its pointer at one of at most so many fires: one a second.
MOST_CANDIDATES = 2_000
#: The number of a job's newest records that are searched for one of its version.
RECORDS_READ = 20
#: The last fire of a chain that left no record counts as lost this long after its instant (ms).
UNFIRED_AFTER_MS = 300_000
#: An ordered fire may leave no record for as long as the one ahead of it is retried (ms).
WAITING_AFTER_MS = LONGEST_RETRYING_SECONDS * 1000


def check_chain(world: World, job: NamedJob, work: Work | None = None) -> bool:
    """Repair the job's chain if its pointer is gone; returns whether it was.

    Raises TooMuchWork, given `work`, if it takes more than that to tell where the pointer has to be.
    """
    if job.state is not JobState.ACTIVE:
        return False
    shard = check_shards(world, [job.partition_id])[job.partition_id]
    candidates = _candidates(job, shard, work)
    if not candidates and not _is_unfired(world, job, work):
        return False
    if any(world.timeline.find([(job.partition_id, pointer.key) for pointer in candidates])):
        return False
    log.error("chain repaired", extra={"action": "chain_repaired", "jobId": job.job_id})
    pointer = _last_known(world, job)
    if pointer is not None:
        put_pointer(world, job, pointer)
        advance_past_horizon(world, job, pointer)
    return True


def settle_again(world: World, job: NamedJob) -> Sequence[Release]:
    """Do the steps after the write of this row again, in case the call that wrote it died before them.

    That call answered for the fires at or before the horizon of its time, which was less than the longest delay (900 s)
    ahead of it. The steps are repeated only for as long as a repeat counts as the same request, so that nothing fires
    again that fired long ago. Nor are they if the chain has a pointer beyond the horizon, which is put last. Raises
    Unavailable.
    """
    released: Sequence[Release] = ()
    age_ms = world.clock.now() - job.asked_at
    is_young = age_ms < world.settings.idempotency_seconds * 1000
    if job.state is JobState.ACTIVE and is_young:
        start = _unsettled_from(world, job)
        until = keys.edge_key(job.asked_at + LONGEST_DELAY_SECONDS * 1000)
        released = advance_past_horizon(world, job, start, until=until)
    check_chain(world, job)
    return released


def catch_up(world: World, job: NamedJob, boundary_at: int) -> Sequence[Release]:
    """Release under this row what is due by `boundary_at` (ms) and may not have been released; returns the releases.

    For a change after which the chain's pointers count no more. A fire behind the cursor has been released; a fire
    before the horizon may be held by a poller that died. Raises Unavailable.
    """
    shards = check_shards(world, [job.partition_id])
    until = keys.edge_key(boundary_at)
    pointer = _released_up_to(world, job, shards[job.partition_id])
    released: list[Release] = []
    rounds = 0
    while pointer is not None and pointer.key <= until:
        step = expand(job, pointer, until, world.clock.now(), world.settings.commit_occurrences)
        released += carry_out(world, job, step, shards, pointer)
        pointer = step.following
        if pointer is not None and pointer.key <= until:
            pointer, rounds = marked(world, job, pointer, rounds)
    return released


def is_told(world: World, job: NamedJob, at: int) -> bool:
    """Whether a record tells of the one-shot's fire. One from which this row goes on, as a pause ended it, does not.

    Nor does a claim of before this row: its deliverer may have read an earlier one, which is paused, and end it yet.
    """
    record = world.executions.find(job.job_id, only_execution(job.job_id, at))
    if record is None:
        return False
    if record.claim is not None and not record.is_accepted:
        return record.claim.started_at > job.asked_at + CLAIM_GRACE_MS
    return record.end.ended_by is None or record.end.ended_by > job.revision


def _unsettled_from(world: World, job: NamedJob) -> Pointer | None:
    """The pointer from which the fires since the row was written may not have been released; None if they were."""
    first = first_pointer(job)
    if first is None:
        return None
    if (at := job.definition.at) is not None:
        age_ms = world.clock.now() - max(job.asked_at, at)
        is_young = age_ms < _recorded_ms(world, job)
        return first if is_young and not is_told(world, job, at) else None
    shard = check_shards(world, [job.partition_id])[job.partition_id]
    pointers = _put(world, job, _candidates(job, shard))
    if any(pointer.key > shard.horizon for pointer in pointers):
        return None
    return pointers[0] if pointers else first


def _released_up_to(world: World, job: NamedJob, shard: Shard) -> Pointer | None:
    """The pointer of the chain from which on the fires may not have been released.

    If only the first pointer of the series is there, the caller that put it may have died before the release, or may
    not have come to the release. Then the answer is the first pointer.
    """
    candidates = _candidates(job, shard)
    first = first_pointer(job)
    if job.definition.at is not None:
        return _unsettled_from(world, job) if not candidates else candidates[0]
    others = [pointer for pointer in candidates if first is None or pointer.key != first.key]
    if others and (_put(world, job, others[-1:]) or _put(world, job, others[:-1])):
        return candidates[0]
    is_young = world.clock.now() - job.asked_at < world.settings.idempotency_seconds * 1000
    return first if is_young else _last_known(world, job)


def _put(world: World, job: NamedJob, pointers: Sequence[Pointer]) -> list[Pointer]:
    """Those of the pointers that are on the timeline."""
    found = world.timeline.find([(job.partition_id, pointer.key) for pointer in pointers]) if pointers else ()
    return [pointer for pointer, row in zip(pointers, found, strict=True) if row is not None]


def _is_unfired(world: World, job: NamedJob, work: Work | None) -> bool:
    """Whether the last fire of a chain that has none left beyond the horizon left no record, as far as records tell.

    The call that was to release the chain's rest may have died before, and no pointer tells of it. A fire of the last
    minutes may be released and not have begun, so the last one before them is asked for.
    """
    after_ms = UNFIRED_AFTER_MS if job.definition.ordering_key is None else WAITING_AFTER_MS
    now = world.clock.now()
    last = last_fire(job, now - after_ms, work)
    if last is None or not after_ms <= now - max(last.due_at, job.asked_at) < _recorded_ms(world, job):
        return False
    return not is_told(world, job, last.due_at) and not _is_in_stretch(world, job, last.due_at)


def _is_in_stretch(world: World, job: NamedJob, at: int) -> bool:
    """Whether the schedule's newest record of a fire before `at` (ms) tells of skipped fires up to that instant."""
    for execution in world.executions.list(job.job_id, RECORDS_READ, str(ExecutionId(job.job_id, at, ""))):
        if decode_execution(execution.execution_id).run == ONLY_RUN:
            return execution.end.skipped is not None and execution.end.skipped.to_at >= at
    return False


def _candidates(job: NamedJob, shard: Shard, work: Work | None = None) -> list[Pointer]:
    """The pointers between cursor and horizon and the first one beyond: a whole chain has its pointer among them."""
    pointers: list[Pointer] = []
    pointer = _pointer_from(job, keys.instant_of(shard.cursor), work)
    while pointer is not None and len(pointers) < MOST_CANDIDATES:
        if pointer.key > shard.cursor:
            pointers.append(pointer)
        if pointer.key > shard.horizon:
            break
        pointer = pointer_to(job, fire_after(job, pointer.fire.base_at, pointer.fire.ordinal, work))
    return pointers


def _last_known(world: World, job: NamedJob) -> Pointer | None:
    """The pointer at which to go on: at the last fire that left a record, or where records begin.

    Records absorb the fires that were released since.
    """
    first = first_pointer(job)
    if job.definition.at is not None:
        return first
    for execution in world.executions.list(job.job_id, RECORDS_READ, None):
        is_own = decode_execution(execution.execution_id).run == ONLY_RUN
        if is_own and execution.end.ended_by is None:
            # Around the row's write the record may be that of an earlier series, which had the same instant.
            is_early = execution.due_at <= job.asked_at + LONGEST_DELAY_SECONDS * 1000
            return first if is_early else _pointer_from(job, execution.due_at)
    return _pointer_from(job, world.clock.now() - _recorded_ms(world, job))


def _recorded_ms(world: World, job: NamedJob) -> int:
    """For how long (ms) a record tells that a fire of the job was released."""
    return world.execution_kept_ms(job.definition.retention_days)


def _pointer_from(job: NamedJob, due_at: int, work: Work | None = None) -> Pointer | None:
    """The pointer to the chain's first fire that is due at `due_at` (ms) or later."""
    return pointer_to(job, first_due_after(job, due_at - 1, work))
