"""Advance the chain of a named job past the horizon, after its row was written: check, expand, release.

The api expands a chain as the poller does. But the api does not stop before the pointer lies beyond the horizon, since
no poller reads a pointer that is put at or before the horizon.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from clockwork.domain import keys
from clockwork.domain.fires.chains import Step, expand
from clockwork.domain.named_jobs import NamedJob, Pointer
from clockwork.domain.releases import Release
from clockwork.domain.storage.rows import pointer_row
from clockwork.domain.timeline import Shard
from clockwork.flows.named.marks import marked
from clockwork.flows.skipped import Stretch, record_skipped
from clockwork.flows.timeline.put import release_now, wake_pollers
from clockwork.flows.timeline.shards import check_shards
from clockwork.flows.world import World


def put_pointer(world: World, job: NamedJob, pointer: Pointer) -> None:
    """Put a pointer of the job on the timeline; a pointer that is there already stays as it is."""
    world.timeline.put_new([pointer_row(job, pointer, world.pointer_expires_at(keys.instant_of(pointer.key)))])


def advance_past_horizon(
    world: World, job: NamedJob, start: Pointer | None, until: str = keys.END
) -> Sequence[Release]:
    """Advance the chain from `start`, a pointer that has been put, past the horizon; returns the releases sent.

    `until` (a key): where to stop although the horizon lies further, because later fires are a poller's. Fires are
    released, and skipped ones recorded, before the pointer behind them is put: where that pointer is, everybody knows
    that what lies before it was released. Each round begins with another check of the horizon. A long backlog is marked
    round by round, so that a repeat goes on where the call before it came to. Raises Unavailable if it is not certain
    that every fire will be released: then nothing may be promised.
    """
    released: list[Release] = []
    pointer, rounds = start, 0
    while pointer is not None:
        # 1. Check the horizon. If the pointer lies beyond it, a poller will read the pointer.
        shards = check_shards(world, [job.partition_id])
        horizon = min(shards[job.partition_id].horizon, until)
        if horizon < pointer.key:
            wake_pollers(world, [(job.partition_id, pointer.key)], shards)
            break
        # 2. Expand up to the horizon, release, record what is skipped, and put the next pointer last. A pointer that no
        #    poller would read is not put.
        step = expand(job, pointer, horizon, world.clock.now(), world.settings.commit_occurrences)
        released += carry_out(world, job, step, shards, pointer)
        pointer = step.following
        if pointer is not None and horizon < pointer.key <= until:
            put_pointer(world, job, pointer)
        elif pointer is not None and pointer.key <= horizon and pointer.backfill is None:
            pointer, rounds = marked(world, job, pointer, rounds)
    return released


def carry_out(
    world: World, job: NamedJob, step: Step, shards: Mapping[str, Shard], pointer: Pointer
) -> Sequence[Release]:
    """Release the fires of a step, and record the skipped ones; returns the releases. Raises Unavailable."""
    release_now(world, step.releases, shards)
    if step.skipped is not None and step.first is not None:
        run = None if pointer.backfill is None else pointer.series
        record_skipped(world, [Stretch(job, step.first, step.skipped, run)])
    return step.releases
