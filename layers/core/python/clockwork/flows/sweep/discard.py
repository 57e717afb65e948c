"""End parked occurrences: CANCELLED, since an admin discards them, or DEAD, since they were parked for too long.

Its record is saved before its row is forgotten. If the sweeper dies between the two, the next sweep finds the row, and
that its execution has ended. At record level `none` its end is all that is recorded of it.

An unreadable row stays for a version that can read it. The row is marked by its key, so that it is discarded then, and
no later row is. The directions are done once all rows were read, even if some stay. If the sweeper dies before the
mark, the directions still stand.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import msgspec

from clockwork.domain.errors import readable
from clockwork.domain.executions import Execution
from clockwork.domain.lifecycle.parking import (
    DISCARDED,
    Discard,
    Parked,
    parked_due_at,
    parking_of,
    plan_burial,
    plan_discard,
)
from clockwork.domain.releases import Deliver
from clockwork.domain.timeline import Row
from clockwork.flows.containment import contained
from clockwork.flows.deaths import notify_dead
from clockwork.flows.deliver.batch import LONGEST_HOLD_MS
from clockwork.flows.records import replace, replace_all
from clockwork.flows.sweep.parked_rows import ParkedRows
from clockwork.flows.workflows.follow import follow_ends
from clockwork.flows.world import World

#: The place in its row of the one release that a parked row holds. Where that is marked, it was discarded.
_ONLY = 0
Parking = tuple[Row, Deliver]
#: Makes the plan of a release, at an instant (ms), for a record that is kept until another one (ms).
PlanOf = Callable[[Deliver, int, int], Callable[[Execution | None], Discard]]


class _Ending(msgspec.Struct, frozen=True):
    """A parked row that ends: its release and stored record, how its end is planned, and that plan for this record."""

    row: Row
    release: Deliver
    stored: Execution | None
    plan: Callable[[Execution | None], Discard]
    planned: Discard


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


def bury_parked(world: World, reading: ParkedRows, rows: Sequence[Parking]) -> int:
    """End parked rows as DEAD, since they were parked for too long; returns how many. Raises Unavailable."""
    return _ended(world, reading, rows, lambda release, now, expires_at: partial(plan_burial, release, now, expires_at))


def _discard(world: World, reading: ParkedRows, meant: Sequence[Parking], reason: str) -> int:
    return _ended(
        world, reading, meant, lambda release, _, expires_at: partial(plan_discard, release, expires_at, reason=reason)
    )


def _ended(world: World, reading: ParkedRows, meant: Sequence[Parking], plan_of: PlanOf) -> int:
    """End parked rows as planned; returns how many. One whose record cannot be read stays. Raises Unavailable."""
    now = world.clock.now()
    records = world.executions.get([(release.job_id, release.execution_id) for _, release in meant]) if meant else ()
    endings: list[_Ending] = []
    for (row, release), record in zip(meant, records, strict=True):
        with contained(world.environment.faults, partial(reading.leave, row), row.key):
            stored = readable(record)
            expires_at = world.execution_expires_at(now, release.occurrence.retention_days)
            plan = plan_of(release, now, expires_at)
            endings.append(_Ending(row, release, stored, plan, plan(stored)))
    ends = list(zip(endings, _saved(world, endings), strict=True))
    _forget_ended(world, reading, [(one.row, one.release, end) for one, end in ends if end.is_final])
    # One that is under way has a message of its own.
    running = [one.row.key for one, end in ends if not end.is_final]
    if running:
        world.timeline.forget(parking_of(reading.client_id), running)
    return len(ends)


def _saved(world: World, endings: Sequence[_Ending]) -> list[Execution]:
    """The records as they stand once all that waits has ended. Raises Unavailable."""
    changes = [(one.stored, one.planned.execution) for one in endings if one.planned.execution is not None]
    saves = replace_all(world, changes)
    notify_dead(world, [after for (_, after), saved in zip(changes, saves, strict=True) if saved.ok])
    answers = iter(saves)
    ends: list[Execution] = []
    for one in endings:
        if one.planned.execution is None or (saved := next(answers)).ok:
            ends.append(one.planned.end)
        else:
            # Another writer came first: its record is asked again.
            ends.append(replace(world, saved.actual, one.plan)[0].end)
    return ends


def _forget_ended(world: World, reading: ParkedRows, ended: Sequence[tuple[Row, Deliver, Execution]]) -> None:
    """Forget rows of ended executions. A row whose callback may yet be placed stays."""
    refused = follow_ends(world, [(release, stored) for _, release, stored in ended])
    uncalled = {one.index: one.reason for one in refused if not one.permanent}
    for index, fault in uncalled.items():
        reading.leave(ended[index][0], fault)
    going = [row.key for index, (row, _, _) in enumerate(ended) if index not in uncalled]
    if going:
        world.timeline.forget(parking_of(reading.client_id), going)
