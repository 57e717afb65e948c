"""Discard parked occurrences of a client, since an admin asked for it: each ends CANCELLED, visibly.

Its record is saved before its row is forgotten. If the sweeper dies between the two, the next sweep finds the row, and
that its execution has ended. At record level `none` its end is all that is recorded of it.

An unreadable row stays for a version that can read it. The row is marked by its key, so that it is discarded then, and
no later row is. The directions are done once all rows were read, even if some stay. If the sweeper dies before the
mark, the directions still stand.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from clockwork.domain.errors import Unreadable
from clockwork.domain.executions import Execution
from clockwork.domain.lifecycle.parking import DISCARDED, Parked, parked_due_at, parking_of, plan_discard
from clockwork.domain.releases import Release
from clockwork.domain.timeline import Row
from clockwork.flows.deliver.batch import LONGEST_HOLD_MS
from clockwork.flows.records import replace, replace_all
from clockwork.flows.sweep.ended_rows import forget_ended
from clockwork.flows.sweep.parked_rows import ParkedRows
from clockwork.flows.world import World

#: The place in its row of the one release that a parked row holds. Where that is marked, it was discarded.
_ONLY = 0
Parking = tuple[Row, Release]
Known = tuple[Row, Release, Execution | None]


def discard(world: World, reading: ParkedRows, parked: Parked, rows: Sequence[Parking], reason: str = DISCARDED) -> int:
    """End the rows of a page that were due at the request of the client's discard. Returns their number.

    An unreadable row stays, and is marked. Raises Unavailable.
    """
    # What was parked by then may have been parked that much before it was due.
    last_at = (parked.discard_until or 0) + LONGEST_HOLD_MS
    ended = _discard(world, reading, [one for one in rows if parked_due_at(one[0].key) <= last_at], reason)
    for row in reading.left:
        if not _is_marked(row) and parked_due_at(row.key) <= last_at:
            world.timeline.cancel(row.partition_id, row.key, _ONLY)
    return ended


def undiscarded(world: World, reading: ParkedRows, rows: Sequence[Parking]) -> tuple[Sequence[Parking], int]:
    """Those of a page of parked rows that no discard has marked; the others end, and are counted.

    They could not be read before. Raises Unavailable.
    """
    marked = [one for one in rows if _is_marked(one[0])]
    return [one for one in rows if not _is_marked(one[0])], _discard(world, reading, marked, DISCARDED)


def _is_marked(row: Row) -> bool:
    return _ONLY in row.cancelled


def _discard(world: World, reading: ParkedRows, meant: Sequence[Parking], reason: str) -> int:
    """End parked rows; returns how many. One whose record cannot be read stays. Raises Unavailable."""
    records = world.executions.get([(release.job_id, release.execution_id) for _, release in meant]) if meant else ()
    known: list[Known] = []
    for (row, release), stored in zip(meant, records, strict=True):
        if isinstance(stored, Unreadable):
            reading.leave(row, str(stored))
        else:
            known.append((row, release, stored))
    ends = _end(world, known, reason)
    ended = [(row, release, end) for (row, release, _), end in zip(known, ends, strict=True) if end.is_final]
    # One that is under way has a message of its own.
    running = [row.key for (row, _, _), end in zip(known, ends, strict=True) if not end.is_final]
    forget_ended(world, reading, ended)
    if running:
        world.timeline.forget(parking_of(reading.client_id), running)
    return len(known)


def _end(world: World, known: Sequence[Known], reason: str) -> list[Execution]:
    """The records of the rows as they stand once all that waits has ended. Raises Unavailable."""
    now = world.clock.now()
    plans = [partial(plan_discard, release, world.execution_expires_at(now), reason=reason) for _, release, _ in known]
    planned = [plan(stored) for plan, (_, _, stored) in zip(plans, known, strict=True)]
    changes = [(stored, one.execution) for one, (_, _, stored) in zip(planned, known, strict=True) if one.execution]
    saves = iter(replace_all(world, changes))
    ends: list[Execution] = []
    for plan, one in zip(plans, planned, strict=True):
        if one.execution is None or (saved := next(saves)).ok:
            ends.append(one.end)
        else:
            # Another writer came first: its record is asked again.
            ends.append(replace(world, saved.actual, plan)[0].end)
    return ends
