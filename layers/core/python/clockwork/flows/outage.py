"""A named job is changed while nobody polls its shard: what of its fires has been released, and what never will be."""

from __future__ import annotations

from clockwork.domain import keys
from clockwork.domain.chains import dropped_from, first_pointer, going_on
from clockwork.domain.named import JobState, NamedJob
from clockwork.flows.skip import Stretch, record_skipped
from clockwork.flows.world import World


def released_to(world: World, job: NamedJob, now: int) -> int:
    """Up to when (ms) fires of the job are in somebody's hands: where nobody polls that is less than `now`.

    Read before the row is written, so that nothing between is lost: what follows is fired by the version to come.
    """
    if job.state is not JobState.ACTIVE:
        return now
    return min(now, keys.instant_of(world.shards.get([job.partition_id])[job.partition_id].horizon))


def tell_dropped(world: World, before: NamedJob, after: NamedJob) -> None:
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
