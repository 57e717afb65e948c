"""Look through what stays parked, so many rows of each client at each sweep: those that hold nothing any more go.

A row stays for as long as its client is paused or its circuit is open. The record of what has ended is kept for a time
only. So if such a row were found at the resume alone, nobody could tell any more that its execution had succeeded.
A row lies beside its ended execution where a sweep died between its send and its delete, or where a copy of the message
that was parked came late and parked it once more.

Nothing ends by it. A row whose record has gone is left to the resume: an operator may be about to restore the record.

How it fails. The sweep dies: the next one looks at the same rows. Its place is not noted: the same. A client's records
give no answer: the other clients' are looked at. There is too little time for all clients: each sweep begins with
another one. There are more rows than are looked at while a record is kept, which is half a million in two weeks, or
80,000 of the largest: those are found at the resume, and end as the rows of records that have gone do.
"""

from __future__ import annotations

import logging

from clockwork.domain.errors import Unreadable
from clockwork.domain.lifecycle.parking import Parked
from clockwork.flows.outages import tolerated
from clockwork.flows.sweep.ended_rows import open_keys
from clockwork.flows.sweep.parked_rows import ParkedRows
from clockwork.flows.world import World

log = logging.getLogger(__name__)

#: Rows of a client that a sweep looks at, whatever holds them back, if they are within a page of the table (1 MB). Each
#: is a read of its record.
LOOKED_AT = 25
#: The time that is kept in hand for one client (ms).
STOP_MARGIN_MS = 5_000


def look_through(world: World, deadline_at: int) -> None:
    """Forget parked rows that hold nothing any more, until `deadline_at` (ms)."""
    everybody = world.regulation.parked()
    first = world.random.below(len(everybody)) if everybody else 0
    for parked in (*everybody[first:], *everybody[:first]):
        if world.clock.now() >= deadline_at - STOP_MARGIN_MS:
            return
        extra = {"action": "parked_rows_not_looked_at", "clientId": parked.client_id}
        with tolerated(world, log, "parked rows are not looked at: %s", extra, Unreadable):
            _look(world, parked)


def _look(world: World, parked: Parked) -> None:
    reading = ParkedRows(world, parked.client_id, after=parked.looked_to)
    open_keys(world, reading, reading.page(LOOKED_AT), ends_gone=False)
    if reading.read_to != parked.looked_to:
        world.regulation.note_looked(parked.client_id, reading.read_to)
