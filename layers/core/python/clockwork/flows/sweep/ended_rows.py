"""Parked rows whose executions have ended: found before they are released, and forgotten.

A row may stay parked for longer than a record with an end is kept. The record is therefore read before the row is
released. A row without a record is not delivered, since it may have been cancelled.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from clockwork.domain.errors import Unavailable, readable
from clockwork.domain.executions import Execution
from clockwork.domain.lifecycle.awaited import goes_on
from clockwork.domain.lifecycle.expiry import expired_execution, is_expired
from clockwork.domain.lifecycle.parking import is_left_behind, parking_of
from clockwork.domain.releases import Release
from clockwork.domain.retention import ending
from clockwork.domain.timeline import Row
from clockwork.flows.containment import contained
from clockwork.flows.deaths import bury, call_back
from clockwork.flows.records import replace_all
from clockwork.flows.sweep.parked_rows import ParkedRows
from clockwork.flows.world import World

#: Records were always put before their rows, so this one has gone.
GONE = "its record had expired while it was parked, so nobody can tell whether it was cancelled"
Parked = Sequence[tuple[Row, Release]]


def open_keys(world: World, reading: ParkedRows, rows: Parked, *, ends_gone: bool = True) -> set[str]:
    """The keys of one client's parked rows whose executions have not ended. The other rows are deleted.

    A row whose execution is parked in a later row is deleted as well. `ends_gone`: a row without a record ends;
    otherwise it counts as open. A row whose record cannot be read stays. Raises Unavailable.
    """
    recorded = [(row, release) for row, release in rows if release.occurrence.record == "full"]
    records = world.executions.get([(release.job_id, release.execution_id) for _, release in recorded])
    stay: set[str] = set()
    ended: list[tuple[Row, Release, Execution]] = []
    left_behind: list[str] = []
    for (row, release), record in zip(recorded, records, strict=True):
        with contained(world.environment.faults, partial(_stay, reading, stay, row), row.key):
            stored = readable(record)
            if stored is None and not ends_gone:
                continue
            stored = stored or _ended(world, release)
            if stored.is_final and not goes_on(stored, release):
                ended.append((row, release, stored))
            elif is_left_behind(release, stored):
                left_behind.append(row.key)
    forget_ended(world, reading, ended)
    if left_behind:
        world.timeline.forget(parking_of(reading.client_id), left_behind)
    return {row.key for row, _ in rows} - stay.union(left_behind, (row.key for row, _, _ in ended))


def _stay(reading: ParkedRows, stay: set[str], row: Row, fault: str) -> None:
    stay.add(row.key)
    reading.leave(row, fault)


def _ended(world: World, release: Release) -> Execution:
    """The record anew of a row whose record has gone: EXPIRED if it comes too late by now, and DEAD otherwise."""
    now = world.clock.now()
    if not is_expired(release.occurrence, now):
        ended = bury(world, release, None, GONE)
    else:
        expired = expired_execution(release, now, world.execution_expires_at(now))
        (saved,) = world.executions.save([(None, expired)])
        ended = saved.actual
    if ended is None:
        raise Unavailable("its end is not recorded")
    return ended


def forget_ended(world: World, reading: ParkedRows, ended: Sequence[tuple[Row, Release, Execution]]) -> None:
    """Forget rows of ended executions, and only then let their records end.

    A row whose callback may yet be placed stays.
    """
    refused = call_back(world, [(release, stored) for _, release, stored in ended])
    uncalled = {one.index: one.reason for one in refused if not one.permanent}
    for index, fault in uncalled.items():
        reading.leave(ended[index][0], fault)
    going = [one for index, one in enumerate(ended) if index not in uncalled]
    if not going:
        return
    world.timeline.forget(parking_of(reading.client_id), [row.key for row, _, _ in going])
    expires_at = world.execution_expires_at(world.clock.now())
    endings = [(stored, ending(stored, expires_at)) for _, _, stored in going]
    replace_all(world, [(stored, after) for stored, after in endings if after is not None])
