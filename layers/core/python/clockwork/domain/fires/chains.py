"""Chains: the series of a named job's fires, where it goes on, and which fires are delivered, missed or skipped.

One function expands a chain for the poller and for the api Lambda. Keys are derived, so a chain that is expanded twice
does not fork.
"""

from __future__ import annotations

from bisect import bisect_left
from functools import partial

import msgspec

from clockwork.domain import keys
from clockwork.domain.executions import Execution, Skipped, State
from clockwork.domain.fires.counting import count_fires
from clockwork.domain.named_jobs import NamedJob, Pointer, occurrence_of
from clockwork.domain.recurrence import Fire, Work, next_occurrence
from clockwork.domain.releases import Release

#: A fire that is read later than this after its due instant (ms) was missed, and `catchUp` decides about it.
MISSED_AFTER_MS = 60_000


#: At most this many missed fires are skipped in one go. The next visit goes on with a longer stretch.
MOST_SKIPPED = 20_000


class Step(msgspec.Struct, frozen=True):
    """The result of expanding a chain: the releases, the stretch of fires to skip, and the pointer to the next fire.

    `following` is None when the schedule is over. `is_cut`: the expansion stopped short of the horizon, so the next
    fire lies at or before the horizon and the chain has to be read again.
    """

    releases: tuple[Release, ...]
    following: Pointer | None
    skipped: Skipped | None = None
    is_cut: bool = False


def first_pointer(job: NamedJob) -> Pointer | None:
    """The pointer to the first fire of the job's chain as of its last change; None if the chain has no fire left."""
    return pointer_to(job, fire_after(job, job.chain_after_at, job.chain_ordinal))


def pointer_to(job: NamedJob, fire: Fire | None) -> Pointer | None:
    """The pointer to a fire of the job, under the job's current version; None without a fire."""
    if fire is None:
        return None
    return Pointer(job.client_id, job.job_key, job.version, fire, sequence=job.definition.sequence)


def fire_after(job: NamedJob, after_at: int, ordinal: int, work: Work | None = None) -> Fire | None:
    """The job's first fire with a base instant after `after_at` (ms), behind `ordinal` others; None if none is left."""
    if job.definition.recurrence is not None:
        return next_occurrence(job.definition.recurrence, after_at, ordinal, job.job_id, work)
    at = job.definition.at
    return None if at is None or at <= after_at else Fire(at, at, 1)


def expand(job: NamedJob, start: Pointer, horizon: str, now: int, limit: int) -> Step:
    """Expand the chain from `start` up to the horizon (a key), to at most `limit` fires.

    The catch-up policy decides which missed fires are delivered. It does not apply to backfills.
    """
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
    """Whether the fire was missed: it was due in a pause, or is read long after it was due.

    Then the catch-up policy decides about it. A fire that catchUp `all` delivers does not count as missed, nor does the
    one fire of a job that fires once.
    """
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
    """The release of an execution that a client asked for by hand, at once or in a backfill.

    A pause of the job does not stop it; a change of the job does.
    """
    return Release(
        job_id=job.job_id,
        occurrence=msgspec.structs.replace(occurrence_of(job, due_at), created_at=run_at),
        run_at=run_at,
        run=run,
        definition=job.definition_digest,
        partition_id=job.partition_id,
    )


def skipped_execution(job: NamedJob, first: Fire, skipped: Skipped, expires_at: int) -> Execution:
    """The one record for a stretch of fires that are not delivered, under the executionId of the `first`."""
    return release_of(job, first).first_record(State.SKIPPED, expires_at, reason=skipped.reason, skipped=skipped)


def without_first(job: NamedJob, first: Fire, skipped: Skipped, count: int) -> tuple[Fire, Skipped] | None:
    """The fire behind the first `count` of a stretch, and the rest of the stretch from it on; None if none is left."""
    if count >= skipped.count:
        return None
    fire: Fire | None = first
    for _ in range(count):
        fire = fire and fire_after(job, fire.base_at, fire.ordinal)
    if fire is None:
        return None
    return fire, msgspec.structs.replace(skipped, from_at=fire.due_at, count=skipped.count - count)


def going_on(job: NamedJob, before: NamedJob, at: int) -> NamedJob:
    """`job`, with its chain going on at the first fire of `before` that is due, jitter included, after `at` (ms)."""
    jitter_ms = 0 if before.definition.recurrence is None else before.definition.recurrence.jitter_seconds * 1000
    after_at = max(before.chain_after_at, at - jitter_ms - 1)
    fire = fire_after(before, after_at, ordinal_at(before, after_at))
    while fire is not None and fire.due_at <= at:
        after_at, fire = fire.base_at, fire_after(before, fire.base_at, fire.ordinal)
    after_at = not_beyond_last(before, after_at)
    return msgspec.structs.replace(job, chain_after_at=after_at, chain_ordinal=ordinal_at(before, after_at))


def dropped_from(job: NamedJob, start: Fire, until_at: int, reason: str) -> tuple[Skipped, Fire | None]:
    """The stretch of fires from `start` on that are due by `until_at` (ms), and the fire after it.

    `start` must be due by `until_at`. One stretch holds at most 20,000 fires.
    """
    last, count = start, 1
    following = fire_after(job, start.base_at, start.ordinal)
    while following is not None and following.due_at <= until_at and count < MOST_SKIPPED:
        last, count = following, count + 1
        following = fire_after(job, following.base_at, following.ordinal)
    return Skipped(start.due_at, last.due_at, count, reason), following


def ordinal_at(job: NamedJob, at: int) -> int:
    """How many fires of the chain have their base instant at or before `at` (ms); 0 for a job without `maxFires`.

    The function counts on or back from the chain's position. So before the first fire the number is 0 or less.
    """
    recurrence = job.definition.recurrence
    if recurrence is None or recurrence.max_fires is None:
        return 0
    after_at, ordinal = job.chain_after_at, job.chain_ordinal
    if at < after_at:
        return ordinal - count_fires(recurrence, at, after_at)
    return min(ordinal + count_fires(recurrence, after_at, at), max(ordinal, recurrence.max_fires))


def not_beyond_last(job: NamedJob, at: int) -> int:
    """`at` (ms), or the base instant of the chain's last fire if `maxFires` ended the chain before `at`.

    Fires are counted back from the chain's position, so it must not lie beyond the last fire.
    """
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
        # With jitter, a fire of the range may be due a little after the range's end, which may be now.
        run_at = max(backfill.run_at, pointer.fire.due_at)
        releases.append(run_of(job, pointer.fire.due_at, run_at, backfill.backfill_id))
        fire = fire_after(job, pointer.fire.base_at, pointer.fire.ordinal)
        following = msgspec.structs.replace(backfill, index=backfill.index + 1)
        is_over = fire is None or fire.base_at > backfill.to_at
        pointer = None if is_over else msgspec.structs.replace(pointer, fire=fire, backfill=following)
    return Step(tuple(releases), pointer, is_cut=pointer is not None and pointer.key <= horizon)


def _catch_up(job: NamedJob, start: Fire, horizon: str, now: int) -> tuple[Fire | None, Skipped | None, Fire | None]:
    """The one missed fire to deliver after all, the stretch of fires to skip, and the fire after both.

    Fires behind the horizon are left to their own reader, even if they were missed.
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
