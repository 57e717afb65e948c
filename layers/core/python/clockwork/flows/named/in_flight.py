"""Fires in flight when a named job is changed: which of the old version may still start, and which never will.

Claims tell which executions may still start. If nobody polled the shard, its horizon tells which fires were released
and which never will be.
"""

from __future__ import annotations

from collections.abc import Sequence

from clockwork.domain import keys
from clockwork.domain.executions import Execution, State
from clockwork.domain.fires.chains import dropped_from, first_pointer, going_on
from clockwork.domain.ids import decode_execution
from clockwork.domain.named_jobs import JobState, NamedJob
from clockwork.flows.skipped import Stretch, record_skipped
from clockwork.flows.world import World

#: Executions read at once, about as many as one answer holds. A job's records are read back to the oldest that may
#: still be retried under its retry policy, which may be a million.
PAGE = 1_000


#: An older execution runs only if it was fired again (a backfill, a redrive, a fire that was caught up with). So many
#: pages are read for these: a month's records of a job that fires every four minutes. Older records stay unread.
OLDER_PAGES = 10


def may_still_start(world: World, job: NamedJob, version: str) -> tuple[Sequence[Execution], bool]:
    """The claimed executions of all versions of the job but `version`, and whether others may start unseen.

    An execution is unseen if its record was not read. Call this after the row of `version` was written. A deliverer
    claims first and reads that row last, so either it sees the change, or its claim is seen here.
    """
    running, all_seen = _running(world, job)
    return [e for e in running if decode_execution(e.execution_id).run != version], not all_seen


def _running(world: World, job: NamedJob) -> tuple[Sequence[Execution], bool]:
    """The running executions of a job by its records, and whether all of these were read."""
    oldest_at = world.clock.now() - int(job.definition.retry_policy.max_age_seconds * 1000)
    found: list[Execution] = []
    before: str | None = None
    older_pages = 0
    while older_pages < OLDER_PAGES:
        page = world.executions.list(job.job_id, PAGE, before)
        found += [e for e in page if e.state is State.RUNNING]
        if len(page) < PAGE:
            return found, True
        before = page[-1].execution_id
        older_pages += page[-1].due_at < oldest_at
    return found, False


def released_to(world: World, job: NamedJob, now: int) -> int:
    """Up to when (ms) fires of the job may have been released: `now`, or the horizon if nobody polled that far.

    Call this before the row is written, so that no fire between is lost: the new version fires all later ones.
    """
    if job.state is not JobState.ACTIVE:
        return now
    return min(now, keys.instant_of(world.shards.get([job.partition_id])[job.partition_id].horizon))


def record_dropped(world: World, before: NamedJob, after: NamedJob) -> None:
    """Record as SKIPPED the old version's fires that were due before the new one begins and that nobody released.

    Pollers drop the old version's pointers, so nobody else tells of these fires. Call this after the row was written: a
    fire that lies beyond the horizon then cannot have been released.
    """
    until_at = min(after.changed_at, after.chain_after_at)
    pointer = first_pointer(going_on(before, before, released_to(world, before, until_at)))
    fire = None if pointer is None else pointer.fire
    while fire is not None and fire.due_at <= until_at:
        skipped, following = dropped_from(before, fire, until_at, "its job was changed before anybody polled")
        record_skipped(world, [Stretch(before, fire, skipped)])
        fire = following
