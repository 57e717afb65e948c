"""Look through what stays parked, so many rows at each sweep: a row whose execution has ended is forgotten.

A row stays for as long as its client is paused or its circuit is open. The record of what has ended is kept for a time
only. So if such a row were found at the resume alone, nobody could tell any more that its execution had succeeded.
A row lies beside its ended execution where a sweep died between its send and its delete, or where a copy of the message
that was parked came late and parked it once more.

How it fails. The sweep dies: the next one looks at the same rows. Its place is not noted: the same. There are more rows
than are looked at while a record is kept, which is half a million in two weeks: those are found at the resume, and end
as the rows of records that have gone do.
"""

from __future__ import annotations

from clockwork.domain.lifecycle.parking import Parked
from clockwork.flows.sweep.ended_rows import open_keys
from clockwork.flows.sweep.parked_rows import ParkedRows
from clockwork.flows.world import World

#: Rows of a client that a sweep looks at, whatever holds them back. Each is a read of its record.
LOOKED_AT = 25


def look_through(world: World, parked: Parked) -> None:
    """Forget those of a client's next parked rows whose executions have ended. Raises Unavailable."""
    reading = ParkedRows(world, parked.client_id, after=parked.looked_to)
    open_keys(world, reading, reading.page(LOOKED_AT))
    if reading.read_to != parked.looked_to:
        world.regulation.note_looked(parked.client_id, reading.read_to)
