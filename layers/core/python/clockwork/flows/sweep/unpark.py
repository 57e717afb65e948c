"""Unpark: release parked occurrences that nothing holds back any more, on a ramp.

The rate doubles with each sweep, from 5 a second. A target that has just recovered therefore does not get everything at
once, nor does the target of a client that was paused for a week.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial

import msgspec

from clockwork.domain.clients import Client
from clockwork.domain.errors import Unavailable, Unreadable
from clockwork.domain.lifecycle.parking import Parked, parked_since, parking_of
from clockwork.domain.limits.circuits import KNOWN_WITHIN_MS, Circuit, Passage, host_of, plan_passage
from clockwork.domain.releases import Deliver
from clockwork.domain.storage.retention import PARKED_MS
from clockwork.domain.timeline import Row
from clockwork.flows.containment import contained
from clockwork.flows.outages import tolerated
from clockwork.flows.sweep.deletion import end_client
from clockwork.flows.sweep.discard import discard, undiscarded
from clockwork.flows.sweep.parked_rows import ParkedRows
from clockwork.flows.sweep.part import Part
from clockwork.flows.world import World

log = logging.getLogger(__name__)

#: If a circuit is due to be probed, so many rows are released, this long after each other (ms). The first one that is
#: started is the probe; others may have been cancelled. A few are enough: once the circuit is closed, the next sweep
#: releases all rows faster.
MOST_TRIES = 10
TRY_EVERY_MS = 1_000
#: Rows read at once, and the time that is kept in reserve for one such page (ms).
PAGE = 100
STOP_MARGIN_MS = 5_000


class UnparkReport(msgspec.Struct):
    """How many occurrences were released, how many ended undelivered on request, and for how many clients some stay."""

    released: int = 0
    discarded: int = 0
    left: int = 0


def unpark(world: World, deadline_at: int, client_id: str | None = None) -> UnparkReport:
    """Unpark occurrences, of each client as many as its rate allows until the next sweep; or of one client alone.

    Each client has its share of the time that is left before `deadline_at` (ms). A client with more rows than can be
    read therefore keeps no other client waiting. A row that this version cannot read keeps nobody waiting either: it
    stays.
    """
    report = UnparkReport()
    everybody = [one for one in world.regulation.parked() if client_id in (None, one.client_id)]
    for index, parked in enumerate(everybody):
        now = world.clock.now()
        until = now + (deadline_at - STOP_MARGIN_MS - now) // (len(everybody) - index)
        is_done = False
        # After a fault the next sweep goes on with the rows that are left; other clients need not wait for that.
        with tolerated(world, log, "parked work stays parked: %s", {"action": "unpark_failed"}, Unreadable):
            is_done = _sweep_client(world, parked, until, report)
        report.left += not is_done
    return report


def _sweep_client(world: World, parked: Parked, until: int, report: UnparkReport) -> bool:
    """Unpark or discard occurrences of one client, or end all of one; True if none of them stays parked."""
    # As it is now: a sweep may have been started by the very resume.
    client = world.clients.get(parked.client_id, fresh=True)
    if client is not None and client.deleting_at is not None:
        return end_client(world, client, parked, until)
    if parked.swept_until > world.clock.now():
        return False  # Another sweep is at work on it.
    if parked.discard_until is not None:
        return _discard_client(world, parked, until, report)
    if client is not None and client.paused:
        return False
    return _unpark_client(world, parked, _known_at(world, client), until, report)


def _known_at(world: World, client: Client | None) -> int:
    """From when on (ms) every deliverer knows that the client is not paused. Sooner, some would park its work again."""
    if client is None or not client.pauses:
        return 0
    return client.pauses[-1].ended_at + world.settings.client_cache_seconds * 1000


def _unpark_client(world: World, parked: Parked, known_at: int, until: int, report: UnparkReport) -> bool:
    began_at = world.clock.now()
    start_at = max(began_at, known_at)
    circuits = world.regulation.circuits(parked.client_id)
    if parked.by_hand and circuits:
        for host in circuits:
            world.regulation.close_circuit(parked.client_id, host)
        # No occurrence may start before every deliverer knows of the closed circuits: it would be parked again.
        start_at, circuits = start_at + KNOWN_WITHIN_MS, {}
    ramp = _Ramp(circuits, start_at, parked.rate, world.settings.sweep_seconds)
    passages = {host: plan_passage(circuit, start_at)[0] for host, circuit in circuits.items()}
    shut = [host for host, passage in passages.items() if passage is Passage.PARK]
    probed = [host for host, passage in passages.items() if passage is Passage.PROBE]
    reading = ParkedRows(world, parked.client_id, shut, probed)
    part = Part(world, parked, until + STOP_MARGIN_MS)
    try:
        return _unpark_rows(world, part, ramp, reading, until, report)
    finally:
        part.give_back()


def _unpark_rows(world: World, part: Part, ramp: _Ramp, reading: ParkedRows, until: int, report: UnparkReport) -> bool:
    began_at, circuits = world.clock.now(), ramp.circuits
    while ramp.room > 0 and world.clock.now() < until:
        rows, discarded = undiscarded(world, reading, reading.page(min(PAGE, ramp.room)))
        report.discarded += discarded
        if circuits:
            # Those with the fewest attempts go first: a probe that fails uses up an attempt, so each has its turn. What
            # has come back without an end goes last: as the probe it may take each deliverer down, and would be parked
            # again before it is a dead letter, for ever.
            rows = sorted(rows, key=lambda row: (row[1].travels.came_back, row[1].attempt))
        going: list[tuple[Row, Deliver, int]] = []
        for row, release in rows:
            with contained(world.environment.faults, partial(reading.leave, row), row.key):
                # What was parked for too long ends (`too_long.py`): its record might go before its message does.
                is_too_old = parked_since(release) + PARKED_MS <= began_at
                if not is_too_old and (at := ramp.leaves_at(release)) is not None:
                    going.append((row, release, at))
        if going and not part.take():
            return False
        _release(world, reading, going, report)
        if reading.is_over:
            part.note_end(None if reading.finds_any else began_at)
            return not reading.leaves_any
    if ramp.is_used:
        part.note_step()
    return False


class _Ramp:
    """The instants at which occurrences leave until the next sweep: `rate` a second, and the tries of open circuits.

    `room`: how many more there is time for. `is_used`: some left that no circuit held back.
    """

    def __init__(self, circuits: Mapping[str, Circuit], start_at: int, rate: float, seconds: int) -> None:
        self.circuits, self._start_at = circuits, start_at
        self._every_ms, self._next_at = 1000 / rate, float(start_at)
        self._tries: Counter[str] = Counter()
        self.room = max(1, int(rate * seconds))
        self.is_used = False

    def leaves_at(self, release: Deliver) -> int | None:
        """The instant (ms) at which a release is to run; None if it stays parked."""
        host = host_of(release.occurrence.target) or ""
        passage, _ = plan_passage(self.circuits.get(host), self._start_at)
        if passage is Passage.PARK or self._tries[host] == MOST_TRIES:
            return None
        self.room -= 1
        if passage is Passage.PROBE:
            self._tries[host] += 1
            return self._start_at + (self._tries[host] - 1) * TRY_EVERY_MS
        self.is_used = True
        self._next_at += self._every_ms
        return int(self._next_at - self._every_ms)


def _release(
    world: World, reading: ParkedRows, going: Sequence[tuple[Row, Deliver, int]], report: UnparkReport
) -> None:
    """Deliver parked occurrences again in this order, and forget the rows of those that the queue took.

    Each is released for its instant (ms) or its own `run_at` if that is later. A release that is refused permanently
    stays parked. Raises Unavailable if any was refused for now.
    """
    if not going:
        return
    releases = []
    for _, release, leaves_at in going:
        travels = msgspec.structs.replace(release.travels, parkings=release.travels.parkings + 1)
        waits = msgspec.structs.replace(release.waits, paced=False, permits=0)
        run_at = max(release.run_at, leaves_at)
        releases.append(msgspec.structs.replace(release, run_at=run_at, waits=waits, travels=travels))
    refused = world.releases.send(releases, world.clock.now())
    stay = {one.index for one in refused}
    taken = [row.key for index, (row, _, _) in enumerate(going) if index not in stay]
    world.timeline.forget(parking_of(reading.client_id), taken)
    report.released += len(taken)
    for one in refused:
        if one.permanent:
            reading.leave(going[one.index][0], one.reason)
    if any(not one.permanent for one in refused):
        raise Unavailable(f"{len(refused)} parked releases were not taken: {refused[0].reason}")


def _discard_client(world: World, parked: Parked, until: int, report: UnparkReport) -> bool:
    reading = ParkedRows(world, parked.client_id)
    while world.clock.now() < until:
        report.discarded += discard(world, reading, parked, reading.page(PAGE))
        if reading.is_over:
            Part(world, parked, until).note_end(None)
            return not reading.leaves_any
    return False
