"""Expand the rows that a poller has read into releases, and into the next pointers of the chains among them."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from functools import partial

import msgspec

from clockwork.domain import keys
from clockwork.domain.errors import NewerFormat, Unavailable, Undecodable, Unreadable
from clockwork.domain.executions import Execution
from clockwork.domain.fires.chains import Step, expand
from clockwork.domain.ids import AnonymousJob, only_execution
from clockwork.domain.jobs import Occurrence
from clockwork.domain.named_jobs import NamedJob, Pointer
from clockwork.domain.releases import Release
from clockwork.domain.storage.codec import decode_row
from clockwork.domain.storage.rows import (
    UNKNOWN_CLIENT,
    release_of,
    row_of,
    undecodable_element,
    undecodable_execution,
)
from clockwork.domain.timeline import Row
from clockwork.flows.apart import Jobs, jobs_apart
from clockwork.flows.containment import contained, why
from clockwork.flows.skipped import Stretch
from clockwork.flows.world import World

log = logging.getLogger(__name__)


class Visited(msgspec.Struct):
    """A row as it was read, and the work that follows from it.

    `pointers`: the chains to advance. `fault`: why the row cannot be decoded. `releases`: the occurrences to send.
    `following`: the pointers to put before anything is sent. `skipped`: the fires that are not delivered. `records`:
    DEAD records of a row, or of a job behind it, that cannot be read. `is_given_up`: they stand for all of the row.
    `untold`: why not even such a record can be made, by the executionId, or by None for all of the row. `goes_on`: a
    chain continues within the range that is being read, so no row behind this one may be passed. `is_impassable`: a
    newer version wrote the row or the job behind it, or its job gave no answer, so this row may not be passed either.
    """

    row: Row
    releases: list[Release] = []
    pointers: list[Pointer] = []
    fault: Unreadable | None = None
    following: list[Row] = []
    skipped: list[Stretch] = []
    records: list[Execution] = []
    is_given_up: bool = False
    untold: dict[str | None, str] = {}
    goes_on: bool = False
    is_impassable: bool = False


def visit_rows(world: World, rows: Sequence[Row], horizon: str, limit: int, now: int) -> Iterator[Visited]:
    """Yield the work that follows from each row, in order, with its chains advanced up to `horizon` (a key).

    All chains together are expanded to about `limit` occurrences. `now` (ms) decides which fires were missed.
    """
    read = [_read(world, row) for row in rows]
    jobs = jobs_apart(world, ((pointer.client_id, pointer.job_key) for one in read for pointer in one.pointers))
    for visited in read:
        with contained(world.environment.faults, partial(give_up, world, visited), visited.row.key):
            _visit(world, visited, jobs, horizon, limit, now)
        limit = max(1, limit - len(visited.releases))
        yield visited


def _read(world: World, row: Row) -> Visited:
    try:
        elements = decode_row(row.blob)
    except Unreadable as fault:
        return Visited(row, fault=fault)
    except Exception as error:  # noqa: BLE001 - whatever one row raises, the rows of others are released
        return Visited(row, fault=Undecodable(why(world.environment.faults, error, row.key)))
    visited = Visited(row)
    for index, element in elements.items():
        if isinstance(element, Pointer):
            visited.pointers.append(element)
        elif index in row.cancelled:
            continue
        elif isinstance(element, Release):
            visited.releases.append(element)
        else:
            # A row may hold 500 jobs: whatever one of them raises, the others are released.
            with contained(world.environment.faults, partial(_end_one, world, visited, index, element), row.key):
                visited.releases.append(release_of(row, index, element))
    return visited


def _end_one(world: World, visited: Visited, index: int, element: Occurrence, why_not: str) -> None:
    """Record one job of a row as DEAD."""
    untold: list[str | None] = [None]
    with contained(world.environment.faults, lambda why: visited.untold.update({untold[-1]: why}), visited.row.key):
        job_id = AnonymousJob(visited.row.partition_id, visited.row.key, index).job_id
        untold.append(only_execution(job_id, element.due_at))
        expires_at = world.execution_expires_at(world.clock.now())
        visited.records.append(
            undecodable_element(visited.row, index, element, f"its release cannot be made: {why_not}", expires_at)
        )


def give_up(world: World, visited: Visited, why_not: str) -> None:
    """Record a row for which something raises as DEAD, and release nothing of it: the rows of others go on."""
    client_ids = [one.client_id for one in visited.pointers] + [r.occurrence.client_id for r in visited.releases]
    visited.releases, visited.following, visited.skipped, visited.goes_on = [], [], [], False
    with contained(world.environment.faults, partial(visited.untold.__setitem__, None), visited.row.key):
        client_id = client_ids[0] if client_ids else UNKNOWN_CLIENT
        _note_fault(world, visited, client_id, "its row is given up", Undecodable(why_not))


def _visit(world: World, visited: Visited, jobs: Jobs, horizon: str, limit: int, now: int) -> None:
    if visited.fault is not None:
        _note_fault(world, visited, UNKNOWN_CLIENT, "its row cannot be decoded", visited.fault)
    for pointer in visited.pointers:
        job = jobs[pointer.client_id, pointer.job_key]
        if isinstance(job, Unavailable):
            extra = {"action": "job_not_read", "clientId": pointer.client_id, "key": visited.row.key}
            log.warning("its job gave no answer: %s", job, extra=extra)
            visited.is_impassable = True
        elif isinstance(job, Unreadable):
            _note_fault(world, visited, pointer.client_id, "its job cannot be decoded", job)
        elif job is not None and pointer.counts_for(job, visited.row.partition_id):
            _advance(world, visited, job, pointer, expand(job, pointer, horizon, now, limit))


def _note_fault(world: World, visited: Visited, client_id: str, told: str, fault: Unreadable) -> None:
    """Record a row as DEAD if it, or the job behind it, is damaged; stop the shard if a newer version wrote it.

    `told`: what is wrong, which `fault` explains. The chain of a damaged job goes on once the audit finds the job whole
    again.
    """
    log.error("%s: %s", told, fault, extra={"action": "unreadable_row", "key": visited.row.key})
    if isinstance(fault, NewerFormat):
        visited.is_impassable = True
        return
    visited.is_given_up = True
    expires_at = world.execution_expires_at(world.clock.now())
    visited.records.append(undecodable_execution(visited.row, client_id, f"{told}: {fault}", expires_at))


def _advance(world: World, visited: Visited, job: NamedJob, pointer: Pointer, step: Step) -> None:
    visited.releases += step.releases
    visited.goes_on = visited.goes_on or step.is_cut
    if step.skipped is not None and step.first is not None:
        run = None if pointer.backfill is None else pointer.series
        visited.skipped.append(Stretch(job, step.first, step.skipped, run))
    if step.following is not None:
        expires_at = world.row_expires_at(keys.instant_of(step.following.key))
        # A backfill's pointer stays in the shard where it was read, also if its job has moved to another.
        visited.following.append(row_of(visited.row.partition_id, step.following.key, [step.following], expires_at))
