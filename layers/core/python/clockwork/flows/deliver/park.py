"""Park occurrences that may not go: set aside in their client's own partition, visible, with no attempt burnt.

Record, row, note, and only then is the message let go. If the deliverer dies between, the message comes back and
either parks again, which is the same row, or finds the way free and claims what was parked.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from clockwork.domain.errors import Unavailable
from clockwork.domain.executions import WAITING, Execution
from clockwork.domain.lifecycle.attempts import Action, Plan, plan_claim
from clockwork.domain.lifecycle.parking import LONGEST_PARKING_MS, NOTED_MS, parked_record, parked_row
from clockwork.domain.releases import Release
from clockwork.domain.timeline import Row
from clockwork.flows.deliver.batch import Batch, Item
from clockwork.flows.deliver.claim import find_seen, wish
from clockwork.flows.records import replace
from clockwork.flows.world import World


def park(batch: Batch, items: Sequence[Item], reason: str) -> None:
    """Park items of one client. Those whose record says otherwise are handled like any message."""
    parked = [item for item in items if _is_parked(batch, item, reason)]
    if not parked or batch.park(parked):
        return
    world = batch.world
    client_id = parked[0].release.occurrence.client_id
    try:
        _put(world, client_id, [parked_row(item.release) for item in parked])
    except Unavailable as error:
        for item in parked:
            batch.fail(item, str(error))
        return
    batch.report.parked += len(parked)


def _put(world: World, client_id: str, rows: Sequence[Row]) -> None:
    """The note first: a client with a note and no rows is harmless, rows without a note would be forgotten."""
    began_at = world.clock.now()
    if began_at >= world.environment.parking_noted_until.get(client_id, 0):
        _note(world, client_id, began_at)
    world.timeline.put_new(rows)
    if (now := world.clock.now()) > began_at + LONGEST_PARKING_MS:
        # Before there was anything under it, the note may have been forgotten.
        _note(world, client_id, now)


def _note(world: World, client_id: str, now: int) -> None:
    world.regulation.note_parked(client_id, now)
    world.environment.parking_noted_until[client_id] = now + NOTED_MS


def _waits_for(seen: Execution, release: Release) -> bool:
    """Whether the record waits for this very attempt."""
    return seen.state in WAITING and release.attempt == seen.attempt + 1


def _is_parked(batch: Batch, item: Item, reason: str) -> bool:
    """Whether the item is to be parked: its record says so, or none is kept of it."""
    if item.release.occurrence.record == "none":
        return True
    if not find_seen(batch, item):
        return False
    try:
        plan, item.seen = replace(batch.world, item.seen, partial(_plan, batch, item.release, reason), item.replans)
    except Unavailable as error:
        batch.fail(item, str(error))
        return False
    if plan.action is not Action.PARK:
        batch.apply_plan(item, plan)
    return plan.action is Action.PARK


def _plan(batch: Batch, release: Release, reason: str, stored: Execution | None) -> Plan:
    """Park an attempt that its record waits for; of any other do what a claim would, which never starts it.

    So a lost worker is recorded before its message is acknowledged.
    """
    if stored is not None and not _waits_for(stored, release):
        return plan_claim(release, stored, wish(batch))
    parked = parked_record(release, stored, reason, batch.world.execution_expires_at(batch.world.clock.now()))
    is_so = stored is not None and stored.state is parked.state
    return Plan(Action.PARK, reason, None if is_so else parked)
