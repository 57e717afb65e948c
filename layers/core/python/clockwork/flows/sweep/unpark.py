"""What was parked is let go once nothing holds it back any more, on a ramp: a target that has just recovered, or a
client that was paused for a week, is not hit by everything at once.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping, Sequence

import msgspec

from clockwork.domain import keys
from clockwork.domain.errors import Unavailable, Unreadable
from clockwork.domain.executions import Execution
from clockwork.domain.lifecycle.parking import LONGEST_PARKING_MS, NOTED_MS, Parked, discarded, next_rate, parking_of
from clockwork.domain.limits.circuits import KNOWN_WITHIN_MS, Circuit, Passage, host_of, plan_passage
from clockwork.domain.releases import Release
from clockwork.domain.timeline import Row
from clockwork.flows.deliver.batch import LONGEST_HOLD_MS
from clockwork.flows.records import replace_all
from clockwork.flows.sweep.parked_rows import ParkedRows
from clockwork.flows.world import World

log = logging.getLogger(__name__)

#: Where a probe is due, so many rows go, so long after each other (ms): the first that is started is the probe. Others
#: may have been cancelled. No more than a few: once the circuit is closed the next sweep lets all go faster.
MOST_TRIES = 10
TRY_EVERY_MS = 1_000
#: Rows read at once, and the time that is kept for one such page (ms).
PAGE = 100
STOP_MARGIN_MS = 5_000


class UnparkReport(msgspec.Struct):
    """What was let go, what ended undelivered because somebody asked for it, and of how many clients some stays."""

    released: int = 0
    discarded: int = 0
    left: int = 0


def unpark(world: World, deadline_at: int) -> UnparkReport:
    """Let parked occurrences go, of each client as many as its rate allows until the next sweep.

    Each has its share of the time that is left: who has more than can be looked at keeps nobody else waiting. Nor does
    what this version cannot read: it stays.
    """
    report = UnparkReport()
    everybody = world.regulation.parked()
    for index, parked in enumerate(everybody):
        now = world.clock.now()
        until = now + (deadline_at - STOP_MARGIN_MS - now) // (len(everybody) - index)
        try:
            is_done = _sweep_client(world, parked, until, report)
        except (Unavailable, Unreadable) as error:
            # The next sweep goes on from what is left; other clients need not wait for that.
            log.warning("parked work stays parked: %s", error, extra={"action": "unpark_failed"})
            is_done = False
        report.left += not is_done
    return report


def _sweep_client(world: World, parked: Parked, until: int, report: UnparkReport) -> bool:
    """Whether nothing of the client's stays."""
    if parked.discard_until is not None:
        return _discard_client(world, parked, parked.discard_until, until, report)
    client = world.clients.get(parked.client_id)
    if client is not None and client.paused:
        return False
    return _unpark_client(world, parked, until, report)


def _unpark_client(world: World, parked: Parked, until: int, report: UnparkReport) -> bool:
    began_at = start_at = world.clock.now()
    circuits = world.regulation.circuits(parked.client_id)
    if parked.by_hand and circuits:
        for host in circuits:
            world.regulation.close_circuit(parked.client_id, host)
        # Nothing starts before every deliverer knows; otherwise it would be parked again.
        start_at, circuits = start_at + KNOWN_WITHIN_MS, {}
    ramp = _Ramp(circuits, start_at, parked.rate, world.settings.sweep_seconds)
    reading = ParkedRows(world, parked.client_id)
    while ramp.room > 0 and world.clock.now() < until:
        rows = reading.page(min(PAGE, ramp.room))
        if circuits:
            # A payload that its target never takes is retried for long: others show sooner that it has recovered.
            rows.sort(key=lambda row: row[1].attempt > 1)
        going = [(row, release, at) for row, release in rows if (at := ramp.leaves_at(release)) is not None]
        _send(world, [(release, at) for _, release, at in going])
        world.timeline.forget(parking_of(parked.client_id), [row.key for row, _, _ in going])
        report.released += len(going)
        if reading.is_over:
            _note_end(world, parked, None if reading.finds_any else began_at)
            return not reading.leaves_any
    if ramp.is_used and not parked.by_hand:
        world.regulation.direct_parked(msgspec.structs.replace(parked, rate=next_rate(parked.rate)), before=parked)
    return False


class _Ramp:
    """When each may go until the next sweep: so many a second that nothing holds back, and tries of open circuits.

    `room`: for how many more there is time. `is_used`: some went that nothing held back.
    """

    def __init__(self, circuits: Mapping[str, Circuit], start_at: int, rate: float, seconds: int) -> None:
        self._circuits, self._start_at = circuits, start_at
        self._every_ms, self._next_at = 1000 / rate, float(start_at)
        self._tries: Counter[str] = Counter()
        self.room = max(1, int(rate * seconds))
        self.is_used = False

    def leaves_at(self, release: Release) -> int | None:
        """When it is to run (ms); None if it stays."""
        host = host_of(release.occurrence.target) or ""
        passage, _ = plan_passage(self._circuits.get(host), self._start_at)
        if passage is Passage.PARK or self._tries[host] == MOST_TRIES:
            return None
        self.room -= 1
        if passage is Passage.PROBE:
            self._tries[host] += 1
            return self._start_at + (self._tries[host] - 1) * TRY_EVERY_MS
        self.is_used = True
        self._next_at += self._every_ms
        return int(self._next_at - self._every_ms)


def _note_end(world: World, parked: Parked, empty_at: int | None) -> None:
    """The whole partition was read: whatever was asked for is done, and the next backlog has a ramp of its own.

    `empty_at`: when it was begun to be read (ms), if nothing was found.
    """
    if not parked.goes_like(Parked(parked.client_id)):
        world.regulation.direct_parked(Parked(parked.client_id), before=parked)
    elif empty_at is not None and empty_at > parked.noted_at + NOTED_MS + LONGEST_PARKING_MS:
        # Sooner, somebody might still have put a row under this note since it was read.
        world.regulation.forget_parked(parked)


def _send(world: World, going: Sequence[tuple[Release, int]]) -> None:
    """In the order in which they were due."""
    releases = []
    for release, leaves_at in going:
        run_at, parkings = max(release.run_at, leaves_at), release.parkings + 1
        releases.append(msgspec.structs.replace(release, run_at=run_at, paced=False, waits=0, parkings=parkings))
    refused = world.releases.send(releases, world.clock.now()) if releases else ()
    if refused:
        raise Unavailable(f"{len(refused)} parked releases were not taken: {refused[0].reason}")


def _discard_client(world: World, parked: Parked, due_until: int, until: int, report: UnparkReport) -> bool:
    # What was parked by then may have come that much before it was due.
    reading = ParkedRows(world, parked.client_id, keys.edge_key(due_until + LONGEST_HOLD_MS))
    while world.clock.now() < until:
        discarded_rows = _discard(world, reading, reading.page(PAGE))
        world.timeline.forget(parking_of(parked.client_id), [row.key for row in discarded_rows])
        report.discarded += len(discarded_rows)
        if reading.is_over:
            _note_end(world, parked, None)
            return not reading.leaves_any
    return False


def _discard(world: World, reading: ParkedRows, rows: Sequence[tuple[Row, Release]]) -> list[Row]:
    """The rows that nobody needs any more."""
    ended: list[Row] = []
    changes: list[tuple[Execution | None, Execution]] = []
    for row, release in rows:
        try:
            stored = world.executions.find(release.job_id, release.execution_id)
        except Unreadable as fault:
            reading.leave(row, fault)
            continue
        ended.append(row)
        after = None if stored is None else discarded(stored, "discarded while it was parked")
        if after is not None:
            changes.append((stored, after))
    replace_all(world, changes)
    return ended
