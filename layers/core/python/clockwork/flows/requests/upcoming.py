"""The work that is about to start for a client: read from the shards in the order of their keys, page by page.

There is no index by client: a page reads so many rows of every shard, whomever they belong to, and shows those of one
client. A page may therefore be empty and yet not the last. Each page costs a read of up to 1 MB in each shard, and
counts against the pace of the client's creates (flows/requests/quotas.py). A page ends early with its Budget,
since rows of paused jobs show nothing.

Fires that were released ahead may have no row, or rows of which only the last still counts. A named job that fires
within AHEAD_MS is therefore listed by its definition, which tells the next fire. Any other one is listed by the row of
its pointer: each job is listed once. A client's named jobs are read for this, MOST_AHEAD a page. Of a client with more
of them, those that fire so soon come first, in the order of their keys from page to page.

Reads race with pollers, and that is harmless: a row stays where it is after its release. An occurrence that started in
the meantime has a record that tells so, and a caller who asks from `now` on meets none that was due before.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice

import msgspec

from clockwork.domain import instants, keys
from clockwork.domain.errors import Unreadable
from clockwork.domain.fires.chains import first_due_after, pointer_to
from clockwork.domain.ids import AnonymousJob
from clockwork.domain.jobs import JobTarget, Occurrence
from clockwork.domain.named_jobs import JobState, NamedJob, Pointer
from clockwork.domain.recurrence import Fire, TooMuchWork, Work
from clockwork.domain.releases import Check, Deliver, Release
from clockwork.domain.storage.codec import Element, decode_row
from clockwork.domain.timeline import Page, Row, ShardStatus
from clockwork.domain.waits import Cause
from clockwork.flows.access import Jobs, get_jobs
from clockwork.flows.activity.budget import Budget
from clockwork.flows.containment import contained
from clockwork.flows.requests.read import list_jobs
from clockwork.flows.world import World

log = logging.getLogger(__name__)

#: Rows that one page reads in all shards together, and the least in each: the first may be one that is read again.
ROWS_READ = 2_000
LEAST_READ = 2
#: The most jobs and records that are in memory at once: a job may have a payload of 256 KB.
ASKED_AT_ONCE = 100
#: A fire that is due within this (ms) may have been released ahead, and no other: such a fire is computed.
AHEAD_MS = 1_000_000
#: The most jobs that are read for one page, and the most work for each fire.
MOST_AHEAD, FIRE_WORK = 400, 10_000
#: More than a row has elements.
_ALL = 1_000_000
#: An element, with its row and its place there.
_Found = tuple[Row, int, Element]
#: Behind every jobKey.
_OVER = "\U0010ffff"


class Position(msgspec.Struct, frozen=True):
    """Behind which element the list goes on: the key of a row, and how many of its elements are behind it.

    `asked_at`: when the first page was read (ms); 0: this is the first one. `job_key`: behind which jobKey those go on
    that fire soon, if one page does not hold them all.
    """

    key: str
    seen: int
    asked_at: int = 0
    job_key: str = ""


class Upcoming(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that is about to start at `at` (ms), and the position behind it.

    `execution_id`: of an execution that waits for an attempt other than its first, or for what `waits_for` says.
    """

    at: int
    due_at: int
    job_id: str
    target: JobTarget
    position: Position
    job_key: str | None = None
    recurs: bool = False
    execution_id: str | None = None
    attempt: int = 1
    waits_for: Cause | None = None


class UpcomingPage(msgspec.Struct, frozen=True):
    """In the order in which the list goes on, which it may do behind each of them.

    That is the order of their rows; of named jobs that fire soon, if one page does not hold them all, that of their
    keys. `goes_on`: where the next page begins; None if there is none.
    """

    items: Sequence[Upcoming]
    goes_on: Position | None


def list_upcoming(
    world: World, client_id: str, start: Position, until: int, limit: int, since_at: int = 0
) -> UpcomingPage:
    """Up to `limit` things that start for a client by `until` (ms), behind `start`. Raises Unavailable.

    Jobs that were created before `since_at` (ms) are not the client's own.
    """
    if start.asked_at == 0:
        start = msgspec.structs.replace(start, asked_at=world.clock.now())
    budget = Budget(world)
    soon, more = _soon(world, client_id, start, until, limit, budget)
    if more is not None:
        return UpcomingPage(soon, msgspec.structs.replace(start, job_key=more))
    last = keys.edge_key(until)
    # The row of `start` is read again if some of its elements may be left.
    pages = _read(world, start.key if start.seen == _ALL else start.key[:-1], last)
    end = min([page.rows[-1].key for page in pages if page.more], default=last)
    rows = sorted((row for page in pages for row in page.rows if start.key <= row.key <= end), key=lambda row: row.key)
    own = _elements(world, client_id, rows, start)
    found = (one for one in own if _created_at(one[2]) >= since_at)
    budget.restart_units()
    items, cut = _enough(world, found, soon, limit, start.asked_at, budget)
    goes_on = cut or Position(end, _ALL)
    items += [one for one in soon if _place(one.position) <= _place(goes_on)]
    items = sorted(items, key=lambda one: _place(one.position))
    items = [msgspec.structs.replace(one, position=_going_on(start, one.position)) for one in items]
    if len(items) >= limit:
        return UpcomingPage(items[:limit], items[limit - 1].position)
    return UpcomingPage(items, None if goes_on == Position(last, _ALL) else _going_on(start, goes_on))


def _enough(
    world: World, found: Iterator[_Found], soon: Sequence[Upcoming], limit: int, asked_at: int, budget: Budget
) -> tuple[list[Upcoming], Position | None]:
    """The elements that are shown, until they and `soon` fill a page, and where its Budget cut it."""
    items = list[Upcoming]()
    while some := list(islice(found, min(limit, ASKED_AT_ONCE))):
        items += _items(world, some, asked_at)
        row, index, _ = some[-1]
        # Behind these there may be others that come before the rest of those that fire soon.
        if len(items) + sum(one.position.key <= row.key for one in soon) >= limit:
            break
        if not budget.note_read():
            return items, Position(row.key, index + 1)
    return items, None


def _place(position: Position) -> tuple[str, int]:
    return position.key, position.seen


def _going_on(start: Position, behind: Position) -> Position:
    return Position(behind.key, behind.seen, start.asked_at, start.job_key)


def _soon(
    world: World, client_id: str, start: Position, until: int, limit: int, budget: Budget
) -> tuple[list[Upcoming], str | None]:
    """The named jobs behind `start` that fire soon, in order; and behind which job they go on, if they are too many.

    Then they are in the order of their keys, and so are the positions behind them.
    """
    if start.job_key == _OVER or keys.instant_of(start.key) > start.asked_at + AHEAD_MS:
        return [], None
    fires: dict[str, Fire] = {}

    def note_soon(job: NamedJob) -> bool:
        fire = None
        with suppress(TooMuchWork):  # then the row of its pointer tells
            fire = first_due_after(job, start.asked_at, Work(FIRE_WORK)) if job.state is JobState.ACTIVE else None
        if fire is None or fire.due_at > min(until, start.asked_at + AHEAD_MS):
            return False
        fires[job.job_key] = fire
        return True

    page = list_jobs(world, client_id, None, start.job_key or None, MOST_AHEAD, note_soon, MOST_AHEAD, budget)
    jobs, more = page.jobs, page.next_after
    if start.job_key or more is not None:
        more = jobs[limit - 1].job_key if len(jobs) > limit else more or _OVER
        jobs = jobs[:limit]
    found = [_fire(job, pointer) for job in jobs if (pointer := pointer_to(job, fires[job.job_key])) is not None]
    behind = [one for one in found if (one.position.key, one.position.seen) > (start.key, start.seen)]
    if more is not None:
        goes_on = [msgspec.structs.replace(start, job_key=one.job_key or "") for one in behind]
        pairs = zip(behind, goes_on, strict=True)
        return [msgspec.structs.replace(one, position=position) for one, position in pairs], more
    return sorted(behind, key=lambda one: one.position.key), more


def _items(world: World, found: Sequence[_Found], asked_at: int) -> list[Upcoming]:
    jobs = get_jobs(world, ((one.client_id, one.job_key) for _, _, one in found if isinstance(one, Pointer)))
    ended = _ended(world, [one for _, _, one in found if isinstance(one, Release)])
    shown = (_shown(row, index, element, jobs, ended, asked_at) for row, index, element in found)
    return [one for one in shown if one is not None]


def _read(world: World, after: str, last: str) -> list[Page]:
    # A shard that has left may have released rows that are not due yet.
    partition_ids = [
        one.partition_id for one in world.shards.all() if one.status is not ShardStatus.LEFT or one.horizon > after
    ]
    share = max(LEAST_READ, ROWS_READ // max(1, len(partition_ids)))
    return [world.timeline.read(partition_id, after, last, share) for partition_id in partition_ids]


def _elements(world: World, client_id: str, rows: Iterable[Row], start: Position) -> Iterator[_Found]:
    """The client's elements of the rows behind `start`, with their place. A row that cannot be read has none."""
    for row in rows:
        elements: dict[int, Element] = {}
        with contained(world.environment.faults, _unread, row.key):
            elements = decode_row(row.blob)
        for index, element in elements.items():
            is_seen = row.key == start.key and index < start.seen
            if (
                not is_seen
                and not isinstance(element, Check)
                and index not in row.cancelled
                and _client_of(element) == client_id
            ):
                yield row, index, element


def _unread(why_not: str) -> None:
    log.warning("not listed: %s", why_not, extra={"action": "row_not_listed"})


def _client_of(element: Element) -> str:
    return element.occurrence.client_id if isinstance(element, Release) else element.client_id


def _created_at(element: Element) -> int:
    """When it was created (ms). A pointer counts for its job alone, which tells by itself whether it is alive."""
    if isinstance(element, Pointer):
        return instants.LAST
    return element.occurrence.created_at if isinstance(element, Release) else element.created_at


def _ended(world: World, releases: Sequence[Release]) -> frozenset[str]:
    """The ids of executions that have ended, though a row of theirs still waits."""
    refs = [(one.job_id, one.execution_id) for one in releases]
    records = world.executions.get(refs) if refs else ()
    return frozenset(
        one.execution_id for one in records if one is not None and not isinstance(one, Unreadable) and one.is_final
    )


def _shown(row: Row, index: int, element: Element, jobs: Jobs, ended: frozenset[str], asked_at: int) -> Upcoming | None:
    behind = Position(row.key, index + 1)
    if isinstance(element, Occurrence):
        job_id = AnonymousJob(row.partition_id, row.key, index).job_id
        return Upcoming(at=element.due_at, due_at=element.due_at, job_id=job_id, target=element.target, position=behind)
    if isinstance(element, Release):
        return None if element.execution_id in ended else _waiting(element, behind)
    job = jobs[element.client_id, element.job_key]
    if job is None or isinstance(job, Unreadable) or not element.counts_for(job, row.partition_id):
        return None
    if element.backfill is None and not _is_later(job, element, asked_at):
        return None
    return _fire(job, element, behind)


def _is_later(job: NamedJob, pointer: Pointer, asked_at: int) -> bool:
    """Whether the pointer is to the job's next fire, and that is none of those that fire soon."""
    try:
        fire = first_due_after(job, asked_at, Work(FIRE_WORK))
    except TooMuchWork:
        return True
    return fire is not None and fire.due_at == pointer.fire.due_at and fire.due_at > asked_at + AHEAD_MS


def _waiting(release: Release, behind: Position) -> Upcoming:
    held = release.waits.held if isinstance(release, Deliver) else None
    return Upcoming(
        at=release.run_at,
        due_at=release.occurrence.due_at,
        job_id=release.job_id,
        target=release.occurrence.target,
        position=behind,
        execution_id=release.execution_id,
        attempt=release.attempt,
        waits_for=held.cause if held is not None else None,
    )


def _fire(job: NamedJob, pointer: Pointer, behind: Position | None = None) -> Upcoming:
    return Upcoming(
        at=keys.instant_of(pointer.key),
        due_at=pointer.fire.due_at,
        job_id=job.job_id,
        target=job.definition.target,
        position=behind or Position(pointer.key, 1),
        job_key=job.job_key,
        recurs=job.definition.recurrence is not None,
    )
