"""The chain of a named job's fires: where it goes next, and what of it is delivered, missed or skipped.

One function expands a chain for poller and API alike. Keys are derived, so a chain expanded twice does not fork.
"""

from __future__ import annotations

from bisect import bisect_left
from functools import partial

import msgspec

from clockwork.domain import ids, keys
from clockwork.domain.executions import Execution, Skipped, State
from clockwork.domain.fires.counting import count_fires
from clockwork.domain.named_jobs import NamedJob, Pointer, occurrence_of
from clockwork.domain.recurrence import Fire, next_occurrence
from clockwork.domain.releases import Release

#: An occurrence read so much later than it was due was missed, and `catchUp` decides about it (ms).
MISSED_AFTER_MS = 60_000


#: So many missed fires are skipped in one go; a longer stretch goes on at the next visit.
MOST_SKIPPED = 20_000


class Step(msgspec.Struct, frozen=True):
    """What a visit makes of a chain: what to release, the stretch to skip, and where the chain goes on.

    `following` is None when the schedule is over. `is_cut`: it stopped short of the horizon, so the chain goes on at
    or before it and has to be read again.
    """

    releases: tuple[Release, ...]
    following: Pointer | None
    skipped: Skipped | None = None
    is_cut: bool = False


def first_pointer(job: NamedJob) -> Pointer | None:
    """The pointer to the first fire of the job's chain as of its last change; None if nothing fires any more."""
    return pointer_to(job, fire_after(job, job.chain_after_at, job.chain_ordinal))


def pointer_to(job: NamedJob, fire: Fire | None) -> Pointer | None:
    """The pointer of the job as it stands to one of its fires."""
    if fire is None:
        return None
    return Pointer(job.client_id, job.job_key, job.version, fire, sequence=job.definition.sequence)


def fire_after(job: NamedJob, after_at: int, ordinal: int) -> Fire | None:
    """The first fire whose base instant lies after `after_at`, `ordinal` fires having been before it."""
    if job.definition.recurrence is not None:
        return next_occurrence(job.definition.recurrence, after_at, ordinal, job.job_id)
    at = job.definition.at
    return None if at is None or at <= after_at else Fire(at, at, 1)


def expand(job: NamedJob, start: Pointer, horizon: str, now: int, limit: int) -> Step:
    """The chain from `start` up to the horizon, at most `limit` fires of it, as the catch-up policy leaves them."""
    if start.backfill is not None:
        return _expand_backfill(job, start, horizon, limit)
    kept, skipped, fire = _catch_up(job, start.fire, horizon, now)
    fires = [] if kept is None else [kept]
    pointer = pointer_to(job, fire)
    while pointer is not None and pointer.key <= horizon:
        if len(fires) >= limit or is_missed(job, pointer.fire, now):
            break
        fires.append(pointer.fire)
        pointer = pointer_to(job, fire_after(job, pointer.fire.base_at, pointer.fire.ordinal))
    is_cut = pointer is not None and pointer.key <= horizon
    return Step(tuple(release_of(job, fire) for fire in fires), pointer, skipped, is_cut)


def is_missed(job: NamedJob, fire: Fire, now: int) -> bool:
    """Whether the catch-up policy decides about this fire: it was due in a pause, or is read long after it was due."""
    if job.definition.recurrence is None:
        return False
    is_late = fire.due_at <= job.active_from_at or now > fire.due_at + MISSED_AFTER_MS
    return is_late and not (job.definition.catch_up == "all" and _is_in_window(job, fire, now))


def release_of(job: NamedJob, fire: Fire) -> Release:
    """The release of one fire of the schedule."""
    return Release(
        job_id=job.job_id,
        occurrence=occurrence_of(job, fire.due_at),
        run_at=fire.due_at,
        run=job.version,
        version=job.version,
        partition_id=job.partition_id,
    )


def run_of(job: NamedJob, due_at: int, run_at: int, run: str) -> Release:
    """The release of an execution that was asked for by hand: a pause does not touch it, a change of the job does."""
    return Release(
        job_id=job.job_id,
        occurrence=msgspec.structs.replace(occurrence_of(job, due_at), created_at=run_at),
        run_at=run_at,
        run=run,
        definition=job.definition_digest,
        partition_id=job.partition_id,
    )


def skipped_execution(job: NamedJob, skipped: Skipped, expires_at: int) -> Execution:
    """The one record of a stretch of fires that are not delivered."""
    return Execution(
        job_id=job.job_id,
        execution_id=str(ids.ExecutionId(job.job_id, skipped.from_at, job.version)),
        client_id=job.client_id,
        due_at=skipped.from_at,
        state=State.SKIPPED,
        revision=1,
        expires_at=expires_at,
        reason=skipped.reason,
        skipped=skipped,
    )


def without_first(job: NamedJob, first: Fire, skipped: Skipped, count: int) -> tuple[Fire, Skipped] | None:
    """The stretch behind its first `count` fires, and the fire with which that begins; None if there were no more."""
    if count >= skipped.count:
        return None
    fire: Fire | None = first
    for _ in range(count):
        fire = fire and fire_after(job, fire.base_at, fire.ordinal)
    if fire is None:
        return None
    return fire, msgspec.structs.replace(skipped, from_at=fire.due_at, count=skipped.count - count)


def going_on(job: NamedJob, before: NamedJob, at: int) -> NamedJob:
    """The job with its chain at the first fire of `before` that is due after `at`, jitter and all."""
    jitter_ms = 0 if before.definition.recurrence is None else before.definition.recurrence.jitter_seconds * 1000
    after_at = max(before.chain_after_at, at - jitter_ms - 1)
    fire = fire_after(before, after_at, ordinal_at(before, after_at))
    while fire is not None and fire.due_at <= at:
        after_at, fire = fire.base_at, fire_after(before, fire.base_at, fire.ordinal)
    after_at = not_beyond_last(before, after_at)
    return msgspec.structs.replace(job, chain_after_at=after_at, chain_ordinal=ordinal_at(before, after_at))


def dropped_from(job: NamedJob, start: Fire, until_at: int, reason: str) -> tuple[Skipped, Fire | None]:
    """The stretch of fires from `start`, which is due by then, up to `until_at` (ms), and the fire after it."""
    last, count = start, 1
    following = fire_after(job, start.base_at, start.ordinal)
    while following is not None and following.due_at <= until_at and count < MOST_SKIPPED:
        last, count = following, count + 1
        following = fire_after(job, following.base_at, following.ordinal)
    return Skipped(start.due_at, last.due_at, count, reason), following


def ordinal_at(job: NamedJob, at: int) -> int:
    """How many fires of the chain have their base instant at or before `at`; counted only where `maxFires` needs it.

    Counted back from where the chain stands it is 0 or less before the first fire.
    """
    recurrence = job.definition.recurrence
    if recurrence is None or recurrence.max_fires is None:
        return 0
    after_at, ordinal = job.chain_after_at, job.chain_ordinal
    if at < after_at:
        return ordinal - count_fires(recurrence, at, after_at)
    return min(ordinal + count_fires(recurrence, after_at, at), max(ordinal, recurrence.max_fires))


def not_beyond_last(job: NamedJob, at: int) -> int:
    """`at`, or where the chain's last fire was if `maxFires` ended it before: from there its fires are counted back."""
    recurrence = job.definition.recurrence
    if recurrence is None or recurrence.max_fires is None or ordinal_at(job, at) < recurrence.max_fires:
        return at
    instants = range(job.chain_after_at, at)
    return job.chain_after_at + bisect_left(instants, recurrence.max_fires, key=partial(ordinal_at, job))


def _expand_backfill(job: NamedJob, start: Pointer, horizon: str, limit: int) -> Step:
    pointer: Pointer | None = start
    releases: list[Release] = []
    while pointer is not None and pointer.key <= horizon and len(releases) < limit:
        backfill = pointer.backfill
        assert backfill is not None
        # With jitter a fire of the range may be due a little after its end, which may be now.
        run_at = max(backfill.run_at, pointer.fire.due_at)
        releases.append(run_of(job, pointer.fire.due_at, run_at, backfill.backfill_id))
        fire = fire_after(job, pointer.fire.base_at, pointer.fire.ordinal)
        following = msgspec.structs.replace(backfill, index=backfill.index + 1)
        is_over = fire is None or fire.base_at > backfill.to_at
        pointer = None if is_over else msgspec.structs.replace(pointer, fire=fire, backfill=following)
    return Step(tuple(releases), pointer, is_cut=pointer is not None and pointer.key <= horizon)


def _catch_up(job: NamedJob, start: Fire, horizon: str, now: int) -> tuple[Fire | None, Skipped | None, Fire | None]:
    """The one missed fire to deliver after all, the stretch that is skipped, and the fire after both.

    What lies behind the horizon is in another's hands, also where it was missed.
    """
    fire: Fire | None = start
    before_last, last = start, None
    count = 0
    while fire is not None and count < MOST_SKIPPED and is_missed(job, fire, now):
        if keys.edge_key(fire.due_at) > horizon:
            break
        before_last, last, count = last or start, fire, count + 1
        fire = fire_after(job, fire.base_at, fire.ordinal)
    if last is None:
        return None, None, fire
    kept = None
    is_last = fire is None or not is_missed(job, fire, now)
    if job.definition.catch_up == "latest" and is_last and _is_in_window(job, last, now):
        kept, last, count = last, before_last, count - 1
    if count == 0:
        return kept, None, fire
    reason = f"missed: catchUp is {job.definition.catch_up} within {job.definition.catch_up_window_seconds:g} s"
    return kept, Skipped(start.due_at, last.due_at, count, reason), fire


def _is_in_window(job: NamedJob, fire: Fire, now: int) -> bool:
    return fire.due_at >= now - job.definition.catch_up_window_seconds * 1000
