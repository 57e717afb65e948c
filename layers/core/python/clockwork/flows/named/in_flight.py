"""After a change: what of a job's old version may still start, told from claims, or from the horizon without them.

A named job is changed while nobody polls its shard: what of its fires has been released, and what never will be.
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

#: Executions read at once, about what one answer holds. A job's records are read back to the oldest that its retry
#: policy lets live, which may be a million.
PAGE = 1_000


#: What is older runs only if it was fired again (a backfill, a redrive, a fire that was caught up with). So many pages
#: are read for that, a month's records of a job that fires every four minutes; behind them nobody knows.
OLDER_PAGES = 10


def may_still_start(world: World, before: NamedJob, after: NamedJob) -> tuple[Sequence[Execution], bool]:
    """Executions with a claim that is not of the version `after`, and whether there may be others that leave no claim.

    To be asked after the job's row was written: a deliverer claims and only then looks at that row, so either it sees
    the change, or its claim is seen here: also that of a version which was recorded, before one that is not.
    """
    running, may_be_unseen = _before(world, before, after.version)
    if before.definition.record == "none":
        may_be_unseen = may_be_unseen or _is_behind_horizon(world, before)
    return running, may_be_unseen


def still_under_way(world: World, job: NamedJob) -> tuple[Sequence[Execution], bool]:
    """The same for a change that is asked for again: what may still start of all versions before the one that stands.

    What the change that made it so could exclude by the horizon of its time may be told of as possible here.
    """
    return _before(world, job, job.version)


def unrecorded_until(job: NamedJob, now: int) -> int:
    """Until when (ms) something of a job that is changed now, or of what it was before, may start without a claim.

    At level `none`: as long as the retries of what may have been released by now are of use.
    """
    longest_ms = int(job.definition.retry_policy.max_age_seconds * 1000)
    released_by = now + LONGEST_DELAY_SECONDS * 1000
    pointer = _oldest_alive(job, now - longest_ms) if job.definition.record == "none" else None
    if pointer is None or pointer.fire.due_at > released_by:
        return job.unrecorded_until
    return max(job.unrecorded_until, released_by + longest_ms)


def _before(world: World, job: NamedJob, version: str) -> tuple[Sequence[Execution], bool]:
    """What runs of a job but of one version, and whether there may be what has no claim, or none that was read."""
    running, all_seen = _running(world, job)
    may_be_unseen = not all_seen or world.clock.now() < job.unrecorded_until
    return [e for e in running if decode_execution(e.execution_id).run != version], may_be_unseen


def _running(world: World, job: NamedJob) -> tuple[Sequence[Execution], bool]:
    """What runs of a job, by its records, and whether these were all seen."""
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
    """Whether the old version had a fire at or before the horizon that its retry policy might still keep alive."""
    horizon = world.shards.get([job.partition_id])[job.partition_id].horizon
    pointer = _oldest_alive(job, world.clock.now() - int(job.definition.retry_policy.max_age_seconds * 1000))
    return pointer is not None and pointer.key <= horizon


def _oldest_alive(job: NamedJob, after_at: int) -> Pointer | None:
    """The pointer to the job's first fire after an instant."""
    return pointer_to(job, fire_after(job, max(job.chain_after_at, after_at), 0))


def released_to(world: World, job: NamedJob, now: int) -> int:
    """Up to when (ms) fires of the job are in somebody's hands: where nobody polls that is less than `now`.

    Read before the row is written, so that nothing between is lost: what follows is fired by the version to come.
    """
    if job.state is not JobState.ACTIVE:
        return now
    return min(now, keys.instant_of(world.shards.get([job.partition_id])[job.partition_id].horizon))


def record_dropped(world: World, before: NamedJob, after: NamedJob) -> None:
    """Record what the old version had due before the new one begins, and nobody released: it is read no more.

    To be asked after the row was written: what lay beyond the horizon since then cannot have been released.
    """
    until_at = min(after.changed_at, after.chain_after_at)
    pointer = first_pointer(going_on(before, before, released_to(world, before, until_at)))
    fire = None if pointer is None else pointer.fire
    while fire is not None and fire.due_at <= until_at:
        skipped, following = dropped_from(before, fire, until_at, "its job was changed before anybody polled")
        record_skipped(world, [Stretch(before, fire, skipped)])
        fire = following
