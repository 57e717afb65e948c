"""Someone asks: create anonymous jobs, one or a batch. Nothing is promised before every row will surely be released."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from clockwork.domain import ids
from clockwork.domain.errors import KeyReused
from clockwork.domain.requests import CreateRequest, occurrence_of
from clockwork.domain.rows import row_of_job
from clockwork.flows.place import place
from clockwork.flows.world import World
from clockwork.ports import KeyRow


class CreatedJob(msgspec.Struct, frozen=True):
    """An accepted job. `released`: it is due so soon that it is in the release queue already."""

    job_id: str
    due_at: int
    released: bool


def create_jobs(world: World, request: CreateRequest, partitions: Sequence[str]) -> Sequence[CreatedJob]:
    """Accept the jobs of one request; all draw the same shard of `partitions`, all of which are registered.

    The same request under the same Idempotency-Key gets the same jobs. Raises KeyReused if the key stands for another
    request, Unavailable if the answer is not certain: the client may repeat with its key, or else may get jobs twice.
    """
    # 1. What ids, instants and shard derive from: the request's key row if it has one, otherwise drawn now.
    origin = _origin(world, request, partitions)
    if not request.jobs:
        return []  # the key alone: what the request creates besides is not anonymous
    # 2. One row each.
    rows = []
    jobs = []
    for new_job in request.jobs:
        row_id = ids.derive(request.client.client_id, origin.seed, new_job.index)
        occurrence = occurrence_of(new_job, request.client, origin.created_at)
        row = row_of_job(origin.partition_id, row_id, occurrence, world.row_expires_at(occurrence.due_at))
        rows.append(row)
        jobs.append((ids.AnonymousJob(origin.partition_id, row.key, 0).job_id, occurrence.due_at))
    # 3. Put, then look. Under a key the rows may be there already, perhaps cancelled: they stay as they are.
    released = place(world, rows, ids_are_new=request.idempotency_key is None)
    return [CreatedJob(job_id, due_at, row.key in released) for (job_id, due_at), row in zip(jobs, rows, strict=True)]


def _origin(world: World, request: CreateRequest, partitions: Sequence[str]) -> KeyRow:
    now = world.clock.now()
    drawn = KeyRow(
        client_id=request.client.client_id,
        key=request.idempotency_key or "",
        digest=request.digest,
        created_at=now,
        seed=world.chance.token(),
        partition_id=partitions[world.chance.below(len(partitions))],
        expires_at=now + world.settings.idempotency_seconds * 1000,
    )
    if request.idempotency_key is None:
        return drawn
    kept = world.key_rows.claim(drawn, now)
    if kept.digest != request.digest:
        raise KeyReused(f"the Idempotency-Key {request.idempotency_key!r} was used for another request")
    return kept
