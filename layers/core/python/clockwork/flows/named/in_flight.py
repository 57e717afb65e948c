"""Fires in flight when a named job is changed: which of the old version may still start, and which never will.

Claims tell which executions may still start. At level `none` there are no claims, and the shard's horizon tells whether
any may. If nobody polled the shard, the horizon also tells which fires were released and which never will be.
"""

from __future__ import annotations

from collections.abc import Sequence

from clockwork.domain import keys
from clockwork.domain.executions import Execution, State
from clockwork.domain.fires.chains import dropped_from, fire_after, first_pointer, going_on, pointer_to
from clockwork.domain.ids import decode_execution
from clockwork.domain.named_jobs import JobState, NamedJob, Pointer
from clockwork.domain.releases import LONGEST_DELAY_SECONDS
from clockwork.flows.skipped import Stretch, record_skipped
from clockwork.flows.world import World

#: Executions read at once, about as many as one answer holds. A job's records are read back to the oldest that may
#: still be retried under its retry policy, which may be a million.
PAGE = 1_000


#: An older execution runs only if it was fired again (a backfill, a redrive, a fire that was caught up with). So many
#: pages are read for these: a month's records of a job that fires every four minutes. Older records stay unread.
OLDER_PAGES = 10


def may_still_start(world: World, before: NamedJob, after: NamedJob) -> tuple[Sequence[Execution], bool]:
    """The claimed executions of versions other than that of `after`, and whether others may start unseen.

    An execution is unseen if it leaves no claim, or if its record was not read. Call this after the job's row was
    written. A deliverer claims first and reads that row last, so either it sees the change, or its claim is seen here.
    Claims of all earlier versions are seen: also of one at level `full` that came before one at level `none`.
    """
    running, may_be_unseen = _before(world, before, after.version)
    if before.definition.record == "none":
        may_be_unseen = may_be_unseen or _is_behind_horizon(world, before)
    return running, may_be_unseen


def still_under_way(world: World, job: NamedJob) -> tuple[Sequence[Execution], bool]:
    """The same as `may_still_start` for a repeat of a change: of all versions before the one that stands.

    The first call could exclude some executions by the horizon of its time. This call may count them as possible.
    """
    return _before(world, job, job.version)


def unrecorded_until(job: NamedJob, now: int) -> int:
    """Until when (ms) executions of a job that is changed now, or of its earlier versions, may start without a claim.

    At level `none`: until the fires that may have been released by now are too old to be retried.
    """
    longest_ms = int(job.definition.retry_policy.max_age_seconds * 1000)
    released_by = now + LONGEST_DELAY_SECONDS * 1000
    pointer = _oldest_alive(job, now - longest_ms) if job.definition.record == "none" else None
    if pointer is None or pointer.fire.due_at > released_by:
        return job.unrecorded_until
    return max(job.unrecorded_until, released_by + longest_ms)


def _before(world: World, job: NamedJob, version: str) -> tuple[Sequence[Execution], bool]:
    """The running executions of a job but those of `version`, and whether others may run unseen."""
    running, all_seen = _running(world, job)
    may_be_unseen = not all_seen or world.clock.now() < job.unrecorded_until
    return [e for e in running if decode_execution(e.execution_id).run != version], may_be_unseen


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


def _is_behind_horizon(world: World, job: NamedJob) -> bool:
    """Whether the old version has a fire at or before the horizon that may still be retried under its retry policy."""
    horizon = world.shards.get([job.partition_id])[job.partition_id].horizon
    pointer = _oldest_alive(job, world.clock.now() - int(job.definition.retry_policy.max_age_seconds * 1000))
    return pointer is not None and pointer.key <= horizon


def _oldest_alive(job: NamedJob, after_at: int) -> Pointer | None:
    """The pointer to the job's first fire after an instant (ms); None if there is none."""
    return pointer_to(job, fire_after(job, max(job.chain_after_at, after_at), 0))


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
