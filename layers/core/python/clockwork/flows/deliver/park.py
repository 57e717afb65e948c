"""Park occurrences that may not start: set each aside in its client's own partition, visible, with no attempt used up.

The deliverer records the occurrence as PARKED, writes the client's note, puts the row, and only then acknowledges the
message. If the deliverer dies between, the message comes back. It is then parked again, which puts the same row. Or it
finds the way free, and starts: the row's own message finds the execution ended.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from msgspec.structs import replace as replaced

from clockwork.domain.clients import ClientUnreadable
from clockwork.domain.executions import WAITING, Execution
from clockwork.domain.lifecycle.attempts import Action, Plan, plan_claim
from clockwork.domain.lifecycle.awaited import goes_on, reopened
from clockwork.domain.lifecycle.parking import parked_record
from clockwork.domain.releases import Deliver
from clockwork.domain.waits import Cause
from clockwork.flows.deliver.batch import Batch
from clockwork.flows.deliver.claim import wish, with_records
from clockwork.flows.deliver.items import Item
from clockwork.flows.records import replace
from clockwork.flows.world import World


def park(batch: Batch, items: Sequence[Item], cause: Cause, reason: str) -> None:
    """Park items of one client. An item whose record says otherwise is handled like any message.

    Rows of items behind an open circuit lie host by host.
    """
    now = batch.world.clock.now()
    for item in items:
        release = item.release.held_back(cause, now)
        came_back = release.travels.came_back or item.came_back
        item.release = replaced(release, travels=replaced(release.travels, came_back=came_back))
    parked = [
        item for item, is_parked in batch.each(items, lambda item: _record_parked(batch, item, reason)) if is_parked
    ]
    failing = batch.waiting.held(parked, behind_circuit=cause == "circuit") if parked else ()
    for item in parked:
        item.left = True
    for failed, why_not in failing:
        batch.fail(failed, why_not)


def _waits_for(seen: Execution, release: Deliver) -> bool:
    """Whether the record waits for this very attempt."""
    return seen.state in WAITING and release.attempt == seen.attempt + 1


def _cause_of(record: Execution) -> Cause | None:
    return None if record.waits.held is None else record.waits.held.cause


def _says_so(stored: Execution, parked: Execution) -> bool:
    """Whether the record already has this release as parked, for this cause.

    A release that is parked again is written, since a claim that rests on the earlier record must fail.
    """
    rows = [(one.state, one.parking.number, one.parking.revision) for one in (stored, parked)]
    return rows[0] == rows[1] and _cause_of(stored) == _cause_of(parked)


def _record_parked(batch: Batch, item: Item, reason: str) -> bool:
    """Record an item as PARKED, or carry out what its record asks for instead; True if it is to be parked.

    A first attempt at level `none` has no record, and is parked without one.
    """
    if not item.release.is_recorded:
        return True
    if not with_records(batch, [item]):
        return False
    with batch.failing(item):
        plan, item.seen = replace(batch.world, item.seen, partial(_plan, batch, item, reason), item.replans)
        if plan.action is Action.PARK:
            return True
        batch.apply_plan(item, plan)
    return False


def _plan(batch: Batch, item: Item, reason: str, stored: Execution | None) -> Plan:
    """Plan to park an attempt for which its record waits; plan any other as a claim would, which never starts it.

    A lost worker is therefore recorded before its message is acknowledged.
    """
    release = item.release
    if stored is not None and goes_on(stored, release):
        stored = reopened(stored)
    if stored is not None and not _waits_for(stored, release):
        return plan_claim(release, stored, wish(batch, item))
    parked = parked_record(release, stored, reason, batch.world.execution_expires_at(batch.world.clock.now()))
    return Plan(Action.PARK, reason, None if stored is not None and _says_so(stored, parked) else parked)


def is_held(world: World, client_id: str) -> bool:
    """Whether all of the client stays parked: it is paused, or cannot be read."""
    try:
        client = world.clients.get(client_id)
    except ClientUnreadable:
        return True
    return client is not None and client.paused
