"""What the rows that a poller has read come to: releases, and the next pointers of the chains among them."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from clockwork.domain import keys
from clockwork.domain.chains import Step, expand
from clockwork.domain.errors import NewerFormat, Undecodable
from clockwork.domain.executions import Execution
from clockwork.domain.named import NamedJob, Pointer
from clockwork.domain.releases import Release
from clockwork.domain.rows import read_row, row_of, undecodable_execution
from clockwork.domain.timeline import Row
from clockwork.flows.skip import Stretch
from clockwork.flows.world import World

log = logging.getLogger(__name__)

Place = tuple[str, str]


class Visited(msgspec.Struct):
    """A row and what it comes to.

    `following` are the pointers to put before anything is sent; `skipped` is what does not fire, and `records` tell of
    what cannot be read. `goes_on`: a chain continues within the range that is being read, so nothing behind this row
    may be passed.
    """

    row: Row
    releases: list[Release] = []
    following: list[Row] = []
    skipped: list[Stretch] = []
    records: list[Execution] = []
    goes_on: bool = False
    is_newer: bool = False


class _Read(msgspec.Struct, frozen=True):
    """A row decoded, or why not."""

    row: Row
    releases: list[Release] = []
    pointers: list[Pointer] = []
    fault: Exception | None = None


def visit_rows(world: World, rows: Sequence[Row], horizon: str, limit: int) -> Iterator[Visited]:
    """What each row comes to, its chains advanced up to `horizon` and all together to about `limit` occurrences."""
    read = [_read(row) for row in rows]
    places = sorted({(pointer.client_id, pointer.job_key) for one in read for pointer in one.pointers})
    jobs = dict(zip(places, world.jobs.get(places), strict=True)) if places else {}
    for one in read:
        visited = _visit(world, one, jobs, horizon, limit)
        limit = max(1, limit - len(visited.releases))
        yield visited


def _read(row: Row) -> _Read:
    try:
        releases, pointers = read_row(row)
    except (Undecodable, NewerFormat) as fault:
        log.error("unreadable row: %s", fault, extra={"action": "unreadable_row", "key": row.key})
        return _Read(row, fault=fault)
    return _Read(row, releases, pointers)


def _visit(world: World, read: _Read, jobs: Mapping[Place, NamedJob | None], horizon: str, limit: int) -> Visited:
    now = world.clock.now()
    visited = Visited(read.row, list(read.releases), is_newer=isinstance(read.fault, NewerFormat))
    if isinstance(read.fault, Undecodable):
        visited.records.append(undecodable_execution(read.row, str(read.fault), world.execution_expires_at(now)))
    for pointer in read.pointers:
        job = jobs[pointer.client_id, pointer.job_key]
        if job is not None and pointer.counts_for(job, read.row.partition_id):
            _advance(world, visited, job, pointer, expand(job, pointer, horizon, now, limit))
    return visited


def _advance(world: World, visited: Visited, job: NamedJob, pointer: Pointer, step: Step) -> None:
    visited.releases += step.releases
    visited.goes_on = visited.goes_on or step.is_cut
    if step.skipped is not None:
        visited.skipped.append(Stretch(job, pointer.fire, step.skipped))
    if step.following is not None:
        expires_at = world.row_expires_at(keys.instant_of(step.following.key))
        # A backfill stays where it is read, also if its job has moved.
        visited.following.append(row_of(visited.row.partition_id, step.following.key, [step.following], expires_at))
