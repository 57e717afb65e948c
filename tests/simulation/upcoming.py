"""Clients that look ahead, and the judge: they are shown their own work, all of it, and nothing that is over."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from clockwork.domain import keys
from clockwork.domain.errors import NewerFormat, Undecodable
from clockwork.domain.ids import NamedJobId, decode_job
from clockwork.domain.storage.codec import decode_row
from clockwork.flows.requests.upcoming import Position, Upcoming, list_upcoming
from clockwork.flows.world import World
from tests.simulation.clients import Visit
from tests.simulation.watcher import place_of

#: A client looks so far ahead (ms).
AHEAD_MS = (60_000, 600_000, 3_600_000)
#: Pages that a client reads at the most.
MOST_PAGES = 200
#: The jobKey of a position behind all jobs that fire soon.
OVER = "\U0010ffff"


def look_ahead(visit: Visit) -> None:
    """Lists what is to come for a client, page by page."""
    client_id, began_at = visit.client.client_id, visit.now
    until = began_at + visit.rng.choice(AHEAD_MS)
    start, limit = Position(keys.row_key(began_at, ""), 0), visit.rng.choice((1, 3, 50))
    # Acknowledged before the first page is read, and not to be cancelled before the last one.
    promised = [p for p in visit.watcher.promises.values() if p.occurrence.client_id == client_id]
    over = {p.job_id for p in promised if p.cancelled_at is not None}
    wanted = {p.job_id for p in promised if start.key <= place_of(p.job_id).key <= keys.edge_key(until)}
    unreadable = _unreadable(visit, wanted)
    shown: list[Upcoming] = []
    position: Position | None = start
    for _ in range(MOST_PAGES):
        if position is None:
            break
        page = visit.call_until_answered(_page(visit, client_id, position, until, limit))
        shown, position = [*shown, *page[0]], page[1]
    visit.watcher.require(position is None, "L1", f"a list of what is to come has more than {MOST_PAGES} pages")
    _check(visit, shown, over, wanted - unreadable - _unreadable(visit, wanted))


def _unreadable(visit: Visit, job_ids: Iterable[str]) -> set[str]:
    """Those of the jobs whose row cannot be read now: no list shows what is in it."""
    found: set[str] = set()
    for job_id in job_ids:
        place = place_of(job_id)
        row = visit.watcher.timeline.find([(place.partition_id, place.key)])[0]
        try:
            if row is not None:
                decode_row(row.blob)
        except (Undecodable, NewerFormat):
            found.add(job_id)
    return found


def _page(
    visit: Visit, client_id: str, start: Position, until: int, limit: int
) -> Callable[[World, Sequence[str]], tuple[Sequence[Upcoming], Position | None]]:
    def flow(world: World, _: Sequence[str]) -> tuple[Sequence[Upcoming], Position | None]:
        client = visit.acting_for(world, client_id)
        found = list_upcoming(world, client.client_id, start, until, limit)
        return found.items, found.goes_on

    return flow


def _check(visit: Visit, shown: Sequence[Upcoming], over: set[str], wanted: set[str]) -> None:
    watcher, client_id = visit.watcher, visit.client.client_id
    for one in shown:
        job = decode_job(one.job_id)
        promise = watcher.promises.get(one.job_id)
        is_own = job.client_id == client_id if isinstance(job, NamedJobId) else promise is None
        is_own = is_own or (promise is not None and promise.occurrence.client_id == client_id)
        watcher.require(is_own, "I9", "another client's work is shown as to come", one.job_id)
        is_over = one.job_id in over and one.execution_id is None
        watcher.require(not is_over, "I5", "it was cancelled, and is shown as to come", one.job_id)
    # Of those that fire soon too many are shown in the order of their keys, before all others.
    in_time = [one.position for one in shown if one.position.job_key in ("", OVER)]
    places = [(position.key, position.seen) for position in in_time]
    watcher.require(places == sorted(places), "I9", "what is to come is not shown in its order")
    asked_for = {job_id for job_id in wanted if not watcher.promises[job_id].cancel_asked}
    missing = asked_for - {one.job_id for one in shown}
    watcher.require(not missing, "I1", f"{len(missing)} jobs that are to come are not shown", min(missing, default=""))


UPCOMING_OPERATIONS: dict[str, Callable[[Visit], None]] = {"look ahead": look_ahead}
UPCOMING_WEIGHTS = {"look ahead": 2}
