"""Settle the chain of a named job from the API's side, after its row was written: look, advance, release.

The same expansion as the poller's, but not to be stopped before the pointer lies beyond the horizon: nobody else
would read a pointer that was put behind it.
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

#: Fires per round; a round ends with another look.
AT_ONCE = 500


def put_pointer(world: World, job: NamedJob, pointer: Pointer) -> None:
    """Put a pointer of the job on the timeline; if it is there already it stays."""
    world.timeline.put_new([pointer_row(job, pointer, world.row_expires_at(keys.instant_of(pointer.key)))])


def advance_past_horizon(
    world: World, job: NamedJob, start: Pointer | None, until: str = keys.END, *, repairs: bool = False
) -> Sequence[Release]:
    """Bring the chain from `start`, which has been put, beyond the horizon; what was released on the way.

    `until`, a key, is where to stop although the horizon lies further: what follows is in another's hands. In a repair
    (`repairs`) nothing else answers for the fires that are passed, and at level `none` nothing else tells a repeat that
    they were: there they are released before the pointer that says so is put. Raises Unavailable if it is not certain
    that everything will fire: then nothing may be promised.
    """
    pointer_tells = repairs or job.definition.record == "none"
    released: list[Release] = []
    later: list[Release] = []
    skipped: list[Stretch] = []
    shards: Mapping[str, Shard] = {}
    pointer = start
    while pointer is not None:
        # 1. Look.
        shards = check_shards(world, [job.partition_id])
        horizon = min(shards[job.partition_id].horizon, until)
        if horizon < pointer.key:
            wake_pollers(world, [(job.partition_id, pointer.key)], shards)
            break
        # 2. Advance: unless it has to tell more, the pointer goes first, so that the chain lives on whatever becomes of
        # this call. One that nobody would read is not put.
        step = expand(job, pointer, horizon, world.clock.now(), AT_ONCE)
        released += step.releases
        later += step.releases
        if step.skipped is not None:
            skipped.append(Stretch(job, pointer.fire, step.skipped))
        if pointer_tells:
            _see_to(world, later, skipped, shards)
            later, skipped = [], []
        pointer = step.following
        if pointer is not None and horizon < pointer.key <= until:
            put_pointer(world, job, pointer)
    # 3. Release what lies behind the horizon, and record what does not fire.
    _see_to(world, later, skipped, shards)
    return released


def _see_to(world: World, releases: Sequence[Release], skipped: Sequence[Stretch], shards: Mapping[str, Shard]) -> None:
    release_now(world, releases, shards)
    record_skipped(world, skipped)
