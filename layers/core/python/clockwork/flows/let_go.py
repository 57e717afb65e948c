"""What was parked is let go once nothing holds it back any more, on a ramp: a target that has just recovered, or a
client that was paused for a week, is not hit by everything at once.
"""

from __future__ import annotations

import msgspec

from clockwork.domain import keys
from clockwork.domain.circuits import Circuit, Passage, host_of, plan_passage
from clockwork.domain.codec import decode_row
from clockwork.domain.errors import Unavailable
from clockwork.domain.executions import Execution
from clockwork.domain.parking import Parked, discarded, next_rate, parking_of
from clockwork.domain.releases import Release
from clockwork.domain.timeline import Row
from clockwork.flows.world import World

#: Rows read at once, and the time that is kept for one such page (ms).
PAGE = 100
STOP_MARGIN_MS = 5_000


class LetGoReport(msgspec.Struct):
    """What was let go, what still stays, and what ended undelivered because somebody asked for it."""

    released: int = 0
    discarded: int = 0
    left: int = 0


def let_go(world: World, deadline_at: int) -> LetGoReport:
    """Let parked occurrences go, of each client as many as its rate allows until the next sweep."""
    report = LetGoReport()
    for parked in world.regulation.parked():
        _let_client_go(world, parked, deadline_at, report)
    return report


def _let_client_go(world: World, parked: Parked, deadline_at: int, report: LetGoReport) -> None:
    client = world.clients.get(parked.client_id)
    if client is not None and client.paused and not parked.discard:
        report.left += 1
        return
    circuits = {} if parked.by_hand or parked.discard else dict(world.regulation.circuits(parked.client_id))
    room = int(parked.rate * world.settings.sweep_seconds)
    start_at = world.clock.now()
    after, gone, stayed = keys.BEGINNING, 0, 0
    while gone < room and world.clock.now() < deadline_at - STOP_MARGIN_MS:
        page = world.timeline.read(parking_of(parked.client_id), after, keys.END, min(PAGE, room - gone))
        going = [row for row in page.rows if _may_go(row, circuits, start_at)]
        stayed += len(page.rows) - len(going)
        if parked.discard:
            _discard(world, going, report)
        else:
            _release_rows(world, going, start_at, gone, parked.rate)
            report.released += len(going)
        world.timeline.forget(parking_of(parked.client_id), [row.key for row in going])
        gone += len(going)
        if not page.more:
            _note_end(world, parked, gone, stayed)
            return
        after = page.rows[-1].key
    report.left += 1
    world.regulation.note_parked(msgspec.structs.replace(parked, rate=next_rate(parked.rate)))


def _may_go(row: Row, circuits: dict[str, Circuit], now: int) -> bool:
    """Whether nothing holds the row back. Where a probe is due one row goes to be it: what is left may all be parked."""
    host = host_of(_release(row).occurrence.target) or ""
    passage, later = plan_passage(circuits.get(host), now)
    if later is not None:
        circuits[host] = later
    return passage is not Passage.PARK


def _note_end(world: World, parked: Parked, gone: int, stayed: int) -> None:
    """The whole partition was read. What was parked meanwhile has noted itself again, or will within the hour."""
    if stayed:
        rate = next_rate(parked.rate) if gone else parked.rate
        world.regulation.note_parked(Parked(parked.client_id, rate))
    elif not gone:
        world.regulation.forget_parked(parked.client_id)


def _release_rows(world: World, rows: list[Row], start_at: int, gone: int, rate: float) -> None:
    """Spread over the time to come, in the order in which they were due."""
    releases = []
    for place, row in enumerate(rows):
        run_at = start_at + int((gone + place) * 1000 / rate)
        release = _release(row)
        releases.append(
            msgspec.structs.replace(
                release, run_at=max(release.run_at, run_at), paced=False, parkings=release.parkings + 1
            )
        )
    refused = world.releases.send(releases, world.clock.now()) if releases else ()
    if refused:
        raise Unavailable(f"{len(refused)} parked releases were not taken: {refused[0].reason}")


def _discard(world: World, rows: list[Row], report: LetGoReport) -> None:
    changes: list[tuple[Execution | None, Execution]] = []
    for row in rows:
        release = _release(row)
        stored = world.executions.find(release.job_id, release.execution_id)
        after = None if stored is None else discarded(stored, "discarded while it was parked")
        if after is not None:
            changes.append((stored, after))
    for saved in world.executions.save(changes) if changes else ():
        if saved.unavailable is not None:
            raise Unavailable(saved.unavailable)
    report.discarded += len(rows)


def _release(row: Row) -> Release:
    (release,) = decode_row(row.blob).values()
    assert isinstance(release, Release), "a parked row holds one release"
    return release
