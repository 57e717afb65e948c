"""End what has been parked for too long: DEAD, visibly, so that its client may redrive it.

A parked row names an execution, and its record must outlast it. No row therefore lies for ever: after PARKED_MS the
sweeper ends it, whatever still holds it back. Rows lie by due instant, those behind a circuit host by host, so a sweep
reads the old ones alone. It begins at another host each time, since a client may have any number of them.

How it fails. The sweeper dies behind a record: the next sweep finds the execution DEAD, calls back, and forgets the
row. A client's records or rows give no answer: the other clients' rows are looked at. The sweeper is out for days: a
row waits for it for as long as a row of the timeline waits for a poller, and its record for longer.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator

import msgspec

from clockwork.domain import keys
from clockwork.domain.errors import Unreadable
from clockwork.domain.executions import DAY_MS
from clockwork.domain.lifecycle.parking import parked_since, parking_of
from clockwork.domain.storage.retention import PARKED_MS
from clockwork.flows.outages import tolerated
from clockwork.flows.sweep.discard import Parking, bury_parked
from clockwork.flows.sweep.parked_rows import ParkedRows, Range
from clockwork.flows.world import World

log = logging.getLogger(__name__)

#: Hosts of a client that a sweep looks at, and rows that it reads at once.
HOSTS, PAGE = 20, 50
#: An alarm tells so long before of what is about to end (ms).
TOLD_BEFORE_MS = DAY_MS
#: Behind all rows that no circuit holds back, and before those of every host.
_HOSTS = "h"


class TooLong(msgspec.Struct):
    """How many occurrences ended, since they were parked for too long, and how many were seen that are about to."""

    ended: int = 0
    ending: int = 0


def end_too_long(world: World, deadline_at: int) -> TooLong:
    """End what has been parked for too long, until `deadline_at` (ms). Each client has its share of the time."""
    report = TooLong()
    everybody = world.regulation.parked()
    first = world.random.below(len(everybody)) if everybody else 0
    for index, parked in enumerate((*everybody[first:], *everybody[:first])):
        now = world.clock.now()
        until = now + (deadline_at - now) // (len(everybody) - index)
        extra = {"action": "parked_too_long_not_ended", "clientId": parked.client_id}
        with tolerated(world, log, "what is parked for too long is not ended: %s", extra, Unreadable):
            _end(world, parked.client_id, until, report)
    return report


def _end(world: World, client_id: str, until: int, report: TooLong) -> None:
    now = world.clock.now()
    hosts = list(_hosts(world, client_id))
    old_at, told_at = now - PARKED_MS, now - PARKED_MS + TOLD_BEFORE_MS
    reading = ParkedRows.within(world, client_id, _ranges(hosts, keys.BEGINNING, keys.edge_key(old_at)))
    while not reading.is_over and world.clock.now() < until:
        rows = reading.page(PAGE)
        report.ended += bury_parked(world, reading, [one for one in rows if _is_before(one, old_at)])
        report.ending += sum(old_at < parked_since(release) <= told_at for _, release in rows)
    soon = ParkedRows.within(world, client_id, _ranges(hosts, keys.edge_key(old_at), keys.edge_key(told_at), once=True))
    while not soon.is_over and world.clock.now() < until:
        report.ending += sum(_is_before(one, told_at) for one in soon.page(PAGE))


def _is_before(parking: Parking, at: int) -> bool:
    return parked_since(parking[1]) <= at


def _ranges(hosts: list[str], after: str, until: str, *, once: bool = False) -> list[Range]:
    """The rows that are due between two edges, of no host and of each of these."""
    return [Range(prefix + after, prefix + until, once) for prefix in ("", *hosts)]


def _hosts(world: World, client_id: str) -> Iterator[str]:
    """The beginnings of the keys behind circuits, by host and attempt: up to HOSTS of them, from a random host on."""
    start, left = f"{_HOSTS}{world.random.token()[:2]}", HOSTS
    for after, until in ((start, keys.END), (_HOSTS, start)):
        rows = world.timeline.read(parking_of(client_id), after, until, 1).rows
        while rows and left:
            prefix, left = rows[0].key.rpartition("/")[0] + "/", left - 1
            yield prefix
            rows = world.timeline.read(parking_of(client_id), prefix + keys.END, until, 1).rows
