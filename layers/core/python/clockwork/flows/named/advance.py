"""Advance the chain of a named job past the horizon, after its row was written: check, expand, release.

The api expands a chain as the poller does. But the api does not stop before the pointer lies beyond the horizon, since
no poller reads a pointer that is put at or before the horizon.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from clockwork.domain import keys
from clockwork.domain.fires.chains import expand
from clockwork.domain.named_jobs import NamedJob, Pointer
from clockwork.domain.releases import Release
from clockwork.domain.storage.rows import pointer_row
from clockwork.domain.timeline import Shard
from clockwork.flows.skipped import Stretch, record_skipped
from clockwork.flows.timeline.put import release_now, wake_pollers
from clockwork.flows.timeline.shards import check_shards
from clockwork.flows.world import World

#: Fires per round; each round begins with another check of the horizon.
AT_ONCE = 500


def put_pointer(world: World, job: NamedJob, pointer: Pointer) -> None:
    """Put a pointer of the job on the timeline; a pointer that is there already stays as it is."""
    world.timeline.put_new([pointer_row(job, pointer, world.row_expires_at(keys.instant_of(pointer.key)))])


def advance_past_horizon(
    world: World, job: NamedJob, start: Pointer | None, until: str = keys.END, *, repairs: bool = False
) -> Sequence[Release]:
    """Advance the chain from `start`, a pointer that has been put, past the horizon; returns the releases sent.

    `until` (a key): where to stop although the horizon lies further, because later fires are a poller's. The next
    pointer is put before the fires that it passes are released. In a repair (`repairs`) they are released first, since
    nothing else answers for them. Raises Unavailable if it is not certain that every fire will be released: then
    nothing may be promised.
    """
    released: list[Release] = []
    later: list[Release] = []
    skipped: list[Stretch] = []
    shards: Mapping[str, Shard] = {}
    pointer = start
    while pointer is not None:
        # 1. Check the horizon. If the pointer lies beyond it, a poller will read the pointer.
        shards = check_shards(world, [job.partition_id])
        horizon = min(shards[job.partition_id].horizon, until)
        if horizon < pointer.key:
            wake_pollers(world, [(job.partition_id, pointer.key)], shards)
            break
        # 2. Expand up to the horizon, and put the next pointer. Except in a repair it comes before the release of its
        #    fires, so that the chain lives on if this call dies. A pointer that no poller would read is not put.
        step = expand(job, pointer, horizon, world.clock.now(), AT_ONCE)
        released += step.releases
        later += step.releases
        if step.skipped is not None:
            skipped.append(Stretch(job, pointer.fire, step.skipped))
        if repairs:
            _see_to(world, later, skipped, shards)
            later, skipped = [], []
        pointer = step.following
        if pointer is not None and horizon < pointer.key <= until:
            put_pointer(world, job, pointer)
    # 3. Release the fires at or before the horizon, and record the skipped ones.
    _see_to(world, later, skipped, shards)
    return released


def _see_to(world: World, releases: Sequence[Release], skipped: Sequence[Stretch], shards: Mapping[str, Shard]) -> None:
    release_now(world, releases, shards)
    record_skipped(world, skipped)
