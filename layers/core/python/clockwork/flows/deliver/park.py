"""Park occurrences that may not go: set aside in their client's own partition, visible, with no attempt burnt.

Record, row, note, and only then is the message let go. If the deliverer dies between, the message comes back and
either parks again, which is the same row, or finds the way free and claims what was parked.
"""

from __future__ import annotations

from collections.abc import Sequence

from clockwork.domain.errors import Unavailable
from clockwork.domain.executions import WAITING, Execution
from clockwork.domain.lifecycle.attempts import plan_claim
from clockwork.domain.lifecycle.parking import LONGEST_PARKING_MS, NOTED_MS, parked_record, parked_row
from clockwork.domain.releases import Release
from clockwork.domain.timeline import Row
from clockwork.flows.deliver.batch import Batch, Item
from clockwork.flows.deliver.claim import find_seen, wish
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
    world = batch.world
    if not find_seen(batch, item):
        return False
    while True:
        if item.seen is not None and not _waits_for(item.seen, item.release):
            if _is_resolved(batch, item, item.seen):
                return False
            continue
        expires_at = world.execution_expires_at(world.clock.now())
        after = parked_record(item.release, item.seen, reason, expires_at)
        if item.seen is not None and item.seen.state is after.state:
            return True
        saved = world.executions.save([(item.seen, after)])[0]
        if saved.unavailable is not None:
            batch.fail(item, saved.unavailable)
            return False
        if saved.ok or not batch.may_race_again(item, saved.actual):
            return saved.ok


def _is_resolved(batch: Batch, item: Item, seen: Execution) -> bool:
    """Do what a claim would, short of starting: a lost worker is recorded before its message is let go."""
    plan = plan_claim(item.release, seen, wish(batch))
    if plan.execution is not None:
        saved = batch.world.executions.save([(seen, plan.execution)])[0]
        if saved.unavailable is not None:
            batch.fail(item, saved.unavailable)
            return True
        if not saved.ok:
            return not batch.may_race_again(item, saved.actual)
    batch.apply_plan(item, plan)
    return True
