"""Expand the rows that a poller has read into releases, and into the next pointers of the chains among them."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from functools import partial

import msgspec

from clockwork.domain import keys
from clockwork.domain.errors import NewerFormat, Unavailable, Undecodable, Unreadable
from clockwork.domain.executions import Execution
from clockwork.domain.fires.chains import Step, expand
from clockwork.domain.ids import AnonymousJob, only_execution
from clockwork.domain.jobs import Occurrence
from clockwork.domain.lifecycle.quarantine import Untold
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
    `untold`: what goes into the quarantine. `goes_on`: a chain continues within the range that is being read, so no row
    behind this one may be passed.
    """

    row: Row
    releases: list[Release] = []
    pointers: list[Pointer] = []
    fault: Unreadable | None = None
    following: list[Row] = []
    skipped: list[Stretch] = []
    records: list[Execution] = []
    is_given_up: bool = False
    untold: list[Untold] = []
    goes_on: bool = False

    @property
    def client_ids(self) -> list[str]:
        """Whose work it is."""
        return [one.client_id for one in self.pointers] + [one.occurrence.client_id for one in self.releases]

    def set_aside(self, why_not: str, client_id: str | None = None, *, holds: bool = False) -> None:
        """Leave all of the row to the quarantine: nothing of it is released or recorded now."""
        self.releases, self.following, self.skipped, self.records, self.goes_on = [], [], [], [], False
        self.is_given_up = False
        self.untold = [Untold(self.row.key, why_not, client_id=client_id, holds=holds)]


def _group_of(client_id: str) -> str:
    """The group of the quarantine that holds a client's order up."""
    return Untold("", "", client_id=client_id, holds=True).group


class Silence:
    """Whose work gave no answer in this visit, and whose goes on in its order only behind what is in the quarantine.

    A client whose jobs gave no answer is not asked for again in the same visit: the others would wait for each call.
    `keeps_order`: the shard is an ordered one.
    """

    def __init__(self, *, keeps_order: bool = False) -> None:
        self._keeps_order = keeps_order
        self._clients: set[str] = set()
        #: The groups of the quarantine that hold up what follows.
        self.held: set[str] = set()

    def of(self, client_id: str) -> bool:
        """Whether the client's jobs are not to be asked for."""
        return client_id in self._clients

    def holds(self, client_id: str) -> bool:
        """Whether what comes now has to follow what is in the quarantine."""
        return self._keeps_order and _group_of(client_id) in self.held

    def held_of(self, visited: Visited) -> str | None:
        """The client of a row who has to follow what is in the quarantine; None if nobody has to."""
        if not self._keeps_order:
            return None
        return next((client_id for client_id in visited.client_ids if self.holds(client_id)), None)

    def note(self, client_id: str) -> None:
        """Note that a client's job or record gave no answer."""
        self._clients.add(client_id)
        self.held.add(_group_of(client_id))

    def note_over(self, group: str) -> None:
        """Note that nothing of a group is left in the quarantine."""
        self.held.discard(group)
        self._clients = {one for one in self._clients if _group_of(one) != group}


def visit_rows(
    world: World, rows: Sequence[Row], horizon: str, limit: int, now: int, silence: Silence
) -> Iterator[Visited]:
    """Yield the work that follows from each row, in order, with its chains advanced up to `horizon` (a key).

    All chains together are expanded to about `limit` occurrences. `now` (ms) decides which fires were missed.
    """
    read = [read_row(world, row) for row in rows]
    jobs = _jobs(world, (pointer for one in read for pointer in one.pointers), silence)
    for visited in read:
        with contained(world.environment.faults, partial(give_up, world, visited), visited.row.key):
            _visit(world, visited, jobs, horizon, limit, now)
            _follow_aside(visited, jobs, silence)
        limit = max(1, limit - len(visited.releases))
        yield visited


def _jobs(world: World, pointers: Iterable[Pointer], silence: Silence) -> Jobs:
    """The jobs of pointers. Those of a client that gave no answer before, or that waits, are not asked for."""
    refs = {(one.client_id, one.job_key) for one in pointers}
    passed = {ref for ref in refs if silence.of(ref[0]) or silence.holds(ref[0])}
    unasked: dict[tuple[str, str], Unavailable] = {ref: Unavailable("not asked for again") for ref in passed}
    return {**jobs_apart(world, refs - passed), **unasked}


def _follow_aside(visited: Visited, jobs: Jobs, silence: Silence) -> None:
    """Leave the row to the quarantine if its job gave no answer, or if what is before it in its order is there."""
    for pointer in visited.pointers:
        job = jobs[pointer.client_id, pointer.job_key]
        if isinstance(job, Unavailable):
            if not silence.of(pointer.client_id) and not silence.holds(pointer.client_id):
                extra = {"action": "job_not_read", "clientId": pointer.client_id, "key": visited.row.key}
                log.warning("its job gave no answer: %s", job, extra=extra)
            silence.note(pointer.client_id)
            visited.set_aside(f"its job gave no answer: {job}", pointer.client_id, holds=True)
    held = silence.held_of(visited)
    if held is not None:
        visited.set_aside("what is before it in its order waits", held, holds=True)


def read_row(world: World, row: Row) -> Visited:
    """The row with the elements that it holds, or why it cannot be decoded."""
    try:
        elements = decode_row(row.blob)
    except Unreadable as fault:
        return Visited(row, fault=fault)
    except Exception as error:  # noqa: BLE001 - whatever one row raises, the rows of others are released
        return Visited(row, fault=Undecodable(why(world.environment.faults, error, row.key)))
    visited = Visited(row)
    for index, element in elements.items():
        if index in row.cancelled and not isinstance(element, Pointer):
            continue
        if isinstance(element, Occurrence):
            # A row may hold 500 jobs: whatever one of them raises, the others are released.
            with contained(world.environment.faults, partial(_end_one, world, visited, index, element), row.key):
                visited.releases.append(release_of(row, index, element))
        elif isinstance(element, Release):
            visited.releases.append(element)
        else:
            visited.pointers.append(element)
    return visited


def _end_one(world: World, visited: Visited, index: int, element: Occurrence, why_not: str) -> None:
    """Record one job of a row as DEAD."""
    named: list[str | None] = [None]

    def fail(why: str) -> None:
        visited.untold.append(Untold(visited.row.key, why, named[-1], client_id=element.client_id))

    with contained(world.environment.faults, fail, visited.row.key):
        job_id = AnonymousJob(visited.row.partition_id, visited.row.key, index).job_id
        named.append(only_execution(job_id, element.due_at))
        expires_at = world.execution_expires_at(world.clock.now())
        visited.records.append(
            undecodable_element(visited.row, index, element, f"its release cannot be made: {why_not}", expires_at)
        )


def give_up(world: World, visited: Visited, why_not: str) -> None:
    """Record a row for which something raises as DEAD, and release nothing of it: the rows of others go on."""
    client_id = next(iter(visited.client_ids), None)
    visited.releases, visited.following, visited.skipped, visited.goes_on = [], [], [], False

    def fail(why: str) -> None:
        visited.untold.append(Untold(visited.row.key, why, client_id=client_id))

    with contained(world.environment.faults, fail, visited.row.key):
        _note_fault(world, visited, client_id, "its row is given up", Undecodable(why_not))


def _visit(world: World, visited: Visited, jobs: Jobs, horizon: str, limit: int, now: int) -> None:
    if visited.fault is not None:
        _note_fault(world, visited, None, "its row cannot be decoded", visited.fault)
    for pointer in visited.pointers:
        job = jobs[pointer.client_id, pointer.job_key]
        if isinstance(job, Unreadable):
            _note_fault(world, visited, pointer.client_id, "its job cannot be decoded", job)
        elif job is not None and not isinstance(job, Unavailable) and pointer.counts_for(job, visited.row.partition_id):
            _advance(world, visited, job, pointer, expand(job, pointer, horizon, now, limit))


def _note_fault(world: World, visited: Visited, client_id: str | None, told: str, fault: Unreadable) -> None:
    """Record a row as DEAD if it, or the job behind it, is damaged; leave it to the quarantine if its format is newer.

    One byte says so, which may be damaged itself: only a newer version can tell. `told`: what is wrong, which `fault`
    explains. The chain of a damaged job goes on once the audit finds the job whole again.
    """
    log.error("%s: %s", told, fault, extra={"action": "unreadable_row", "key": visited.row.key})
    if isinstance(fault, NewerFormat):
        visited.set_aside(f"{told}: {fault}", client_id)
        return
    visited.is_given_up = True
    expires_at = world.execution_expires_at(world.clock.now())
    reason = f"{told}: {fault}"
    visited.records.append(undecodable_execution(visited.row, client_id or UNKNOWN_CLIENT, reason, expires_at))


def _advance(world: World, visited: Visited, job: NamedJob, pointer: Pointer, step: Step) -> None:
    visited.releases += step.releases
    visited.goes_on = visited.goes_on or step.is_cut
    if step.skipped is not None and step.first is not None:
        run = None if pointer.backfill is None else pointer.series
        visited.skipped.append(Stretch(job, step.first, step.skipped, run))
    if step.following is not None:
        expires_at = world.pointer_expires_at(keys.instant_of(step.following.key))
        # A backfill's pointer stays in the shard where it was read, also if its job has moved to another.
        visited.following.append(row_of(visited.row.partition_id, step.following.key, [step.following], expires_at))
