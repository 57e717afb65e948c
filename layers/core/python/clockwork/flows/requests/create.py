"""Create anonymous jobs, one or a batch. The api answers only once it is certain that every row will be released."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from clockwork.domain import ids, keys, ordering
from clockwork.domain.errors import KeyReused, Unavailable
from clockwork.domain.ids import AnonymousJob
from clockwork.domain.jobs import Occurrence
from clockwork.domain.requests.create import CreateRequest, occurrence_of
from clockwork.domain.requests.packing import groups_of
from clockwork.domain.storage import codec
from clockwork.domain.storage.rows import row_of_job, row_of_many
from clockwork.domain.timeline import Row
from clockwork.flows.idempotency import claim_key
from clockwork.flows.timeline.put import Placed, put_and_check, put_and_check_each
from clockwork.flows.timeline.shards import ordered_home
from clockwork.flows.world import World
from clockwork.ports import KeyRow


class CreatedJob(msgspec.Struct, frozen=True, gc=False):
    """An accepted job, due at `due_at` (ms). `released`: it is due so soon that it is in the release queue already."""

    job_id: str
    due_at: int
    released: bool


def create_jobs(world: World, request: CreateRequest, partitions: Sequence[str]) -> Sequence[CreatedJob]:
    """Accept the jobs of one request. All go to one shard, which is drawn from `partitions`.

    All `partitions` are registered. An ordered job goes to the shard of its ordering key instead, in a row of its own.
    The same request under the same Idempotency-Key gets the same jobs. Raises KeyReused if the key stands for another
    request, and Unavailable if the answer is not certain. Then the client may repeat the request: with its key it gets
    the same jobs, without a key it may get jobs twice.
    """
    # 1. The key row, from which ids, instants and shard derive: that of the request's key, otherwise one drawn now.
    origin = _origin(world, request, partitions)
    if not request.jobs:
        return []  # only the key is claimed: the request creates no anonymous job
    # 2. The rows: some are shared by several jobs, every other job has a row of its own.
    occurrences = {new_job.index: occurrence_of(new_job, request.client, origin.created_at) for new_job in request.jobs}
    shared = _shared_rows(world, request, origin, occurrences)
    own = _own_rows(world, origin, {index: due for index, due in occurrences.items() if index not in shared})
    places = {**shared, **own}
    # 3. Put, then check. Under a key the rows may be there already, perhaps cancelled: they stay as they are.
    released = put_and_check(world, _rows_of(places.values()), ids_are_new=request.idempotency_key is None)
    # 4. A shared row that was there already may lack a job that was not valid then: such a job gets a row of its own.
    if shared and request.idempotency_key is not None:
        late = _own_rows(world, origin, {index: occurrences[index] for index in _left_out(world, shared)})
        if late:
            released |= put_and_check(world, _rows_of(late.values()), ids_are_new=False)
            places |= late
    return [_created(places[index], due.due_at, released) for index, due in occurrences.items()]


def create_each(
    world: World, requests: Sequence[CreateRequest], partitions: Sequence[str]
) -> Sequence[CreatedJob | KeyReused | Unavailable]:
    """Accept requests of one job each, every one under a key of its own, and write their rows together.

    Returns for each request its job, KeyReused if its key stands for another request, or Unavailable if it is not
    certain that its job is released. An Unavailable request alone is to be repeated, since a repeat sends the job
    again. Any error is raised before a job is sent.
    """
    drawn = [partitions[world.random.below(len(partitions))]]
    places: list[_Place | KeyReused] = []
    due_at: list[int] = []
    for request in requests:
        try:
            origin = _origin(world, request, drawn)
        except KeyReused as reused:
            places.append(reused)
            due_at.append(0)
            continue
        occurrence = occurrence_of(request.jobs[0], request.client, origin.created_at)
        # The job's id is that of a request's only job, wherever the request stood in the batch when it came before.
        places += _own_rows(world, origin, {0: occurrence}).values()
        due_at.append(occurrence.due_at)
    # A message may be in a batch twice: it has one row.
    rows = _rows_of(place for place in places if isinstance(place, _Place))
    placed = put_and_check_each(world, rows) if rows else Placed(set(), {})
    outcomes: list[CreatedJob | KeyReused | Unavailable] = []
    for place, at in zip(places, due_at, strict=True):
        if isinstance(place, KeyReused):
            outcomes.append(place)
        else:
            outcomes.append(placed.refused.get(place.row.key, _created(place, at, placed.released)))
    return outcomes


class _Place(msgspec.Struct, frozen=True, gc=False):
    """Where a job lies: its row, and the place of its element in the row."""

    row: Row
    element: int


def _rows_of(places: Iterable[_Place]) -> list[Row]:
    """The rows, each once."""
    return list({place.row.key: place.row for place in places}.values())


def _created(place: _Place, due_at: int, released: set[str]) -> CreatedJob:
    row = place.row
    job_id = AnonymousJob(row.partition_id, row.key, place.element).job_id
    return CreatedJob(job_id, due_at, row.key in released)


# The rows of jobs: each returns the places by the index of the job in the request.


def _own_rows(world: World, origin: KeyRow, occurrences: Mapping[int, Occurrence]) -> dict[int, _Place]:
    places: dict[int, _Place] = {}
    row_ids = ids.derive_each((origin.client_id, origin.seed), occurrences)
    for (index, occurrence), derived in zip(occurrences.items(), row_ids, strict=True):
        partition_id, row_id = origin.partition_id, derived
        if occurrence.ordering_key is not None:
            partition_id = ordered_home(world, occurrence.client_id, occurrence.ordering_key)
            row_id = ordering.row_id_of(row_id, occurrence.sequence)
        row = row_of_job(partition_id, row_id, occurrence, world.row_expires_at(occurrence.due_at))
        places[index] = _Place(row, 0)
    return places


def _shared_rows(
    world: World, request: CreateRequest, origin: KeyRow, occurrences: Mapping[int, Occurrence]
) -> dict[int, _Place]:
    places: dict[int, _Place] = {}
    may_share = {index for index, occurrence in occurrences.items() if occurrence.ordering_key is None}
    for group in groups_of(request.outlines, origin.created_at):
        elements = {index: element for element, index in enumerate(group.indexes) if index in may_share}
        if elements:
            key = keys.row_key(group.at, ids.derive(origin.client_id, origin.seed, "shared", group.indexes[0]))
            expires_at = world.row_expires_at(max(occurrences[index].due_at for index in elements))
            by_element = {element: occurrences[index] for index, element in elements.items()}
            row = row_of_many(origin.partition_id, key, by_element, expires_at)
            places |= {index: _Place(row, element) for index, element in elements.items()}
    return places


def _left_out(world: World, shared: Mapping[int, _Place]) -> list[int]:
    """The indexes of the jobs that the shared rows, as they are stored, do not hold."""
    rows = _rows_of(shared.values())
    stored = world.timeline.find([(row.partition_id, row.key) for row in rows])
    kept = {row.key: codec.decode_row(row.blob) for row in stored if row is not None}
    return [index for index, place in shared.items() if place.element not in kept.get(place.row.key, ())]


def _origin(world: World, request: CreateRequest, partitions: Sequence[str]) -> KeyRow:
    client_id, key = request.client.client_id, request.idempotency_key
    seed, partition_id = world.random.token(), partitions[world.random.below(len(partitions))]
    return claim_key(world, client_id, key, request.digest, seed, partition_id, request.client.since_at)
