"""Look through parked rows, a few of each client at each sweep, and delete rows without a waiting execution.

A row stays for as long as its client is paused or its circuit is open. The record of an ended execution is kept for a
limited time. If such a row were found at the resume alone, its record could be gone, and with it the success. A row
lies beside its ended execution where a sweep died between its send and its delete, or where a copy of the message that
was parked came late and parked it once more.

The look ends no execution. A row without a record is left to the resume: an operator may be about to restore the
record.

How it fails. If the sweep dies, or cannot note its place, the next one looks at the same rows. If a client's records
give no answer, the other clients' are looked at. If there is too little time for all clients, each sweep begins with
another one. Half a million rows, or 80,000 of the largest, are looked at in two weeks, while a record is kept. Further
rows are found at the resume, and end like rows without a record.
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
#: The time (ms) that is reserved for one client.
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
