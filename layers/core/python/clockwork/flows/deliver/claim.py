"""Claim attempts, each by one compare-and-set on its record, so that no other deliverer starts it.

A deliverer that loses the compare-and-set plans again with the record that is stored.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

import msgspec

from clockwork.domain.ends.telling import asks
from clockwork.domain.errors import readable
from clockwork.domain.executions import Execution, State
from clockwork.domain.fires.hints import hinted
from clockwork.domain.lifecycle.attempts import Action, Claim, Plan, plan_claim, plan_return, plan_unstarted, plan_watch
from clockwork.domain.lifecycle.awaited import has_ended_for
from clockwork.domain.lifecycle.awaiting import watch_of
from clockwork.domain.lifecycle.expiry import expired_execution, is_expired, reason_of
from clockwork.domain.lifecycle.parking import BEHIND_CIRCUIT
from clockwork.domain.lifecycle.tokens import claimant_of
from clockwork.domain.limits.concurrency import wait_ms
from clockwork.domain.releases import Deliver, Watch
from clockwork.flows.apart import records_apart
from clockwork.flows.check_keys import check_keys
from clockwork.flows.deliver.batch import Batch
from clockwork.flows.deliver.items import Item, Received, is_still_ours, leave_to_its_watch
from clockwork.flows.records import renew, replace

T = TypeVar("T", bound=Received)

#: Why an item comes back whose claim another deliverer took for lost. Its message takes care of what is still to do, as
#: the retry of a lost worker.
LOST_CLAIM = "our claim had ended"


def claim(batch: Batch, items: Sequence[Item]) -> list[Item]:
    """The items that this deliverer may start, in the order of their `run_at`. The others have ended, or fail."""
    # 1. A first attempt at level `none` has no claim: a duplicate is delivered twice. Only one that comes too late is
    #    recorded.
    unrecorded = [item for item in items if not item.release.is_recorded]
    started = [item for item, has_ended in batch.each(unrecorded, partial(end_unclaimed, batch)) if not has_ended]
    open_items = [item for item in items if item.release.is_recorded]
    # 2. Read the records that later attempts follow.
    open_items = with_records(batch, open_items)
    # 3. Claim. An item that lost is planned again, with the record that is stored.
    while open_items:
        open_items = _claim_round(batch, open_items, started)
    return sorted(started, key=lambda item: item.release.run_at)


def _claim_round(batch: Batch, items: Sequence[Item], started: list[Item]) -> list[Item]:
    plans = _watched(batch, batch.each(items, lambda item: plan_claim(item.release, item.seen, wish(batch, item))))
    lost = []
    for index, saved in batch.save_plans(plans):
        item, plan = plans[index]
        if not saved.ok and _was_parked(item, saved.actual):
            _park_too(batch, item, behind_circuit=saved.actual is not None and saved.actual.reason == BEHIND_CIRCUIT)
        elif not saved.ok:
            lost += [item] * batch.take_replan(item, saved.actual)
        elif plan.action is Action.START:
            item.is_repeated = item.seen is not None and item.seen.state is State.RUNNING
            item.seen = plan.execution
            started.append(item)
        else:
            with batch.failing(item):
                batch.apply_plan(item, plan)
    return lost


def _was_parked(item: Item, actual: Execution | None) -> bool:
    """Whether another deliverer has parked this very release since the item's record was read.

    The pause or the circuit began meanwhile, so the item may not start.
    """
    was_read = item.seen is not None
    return (
        was_read
        and actual is not None
        and actual.state is State.PARKED
        and actual.parking.number == item.release.travels.parkings
    )


def _park_too(batch: Batch, item: Item, *, behind_circuit: bool) -> None:
    """Put the row that the other deliverer puts: if it died before, this one holds the occurrence."""
    item.release = item.release.held_back("circuit" if behind_circuit else "pause", batch.world.clock.now())
    item.left = True
    for failing, why_not in batch.waiting.held([item], behind_circuit=behind_circuit):
        batch.fail(failing, why_not)


def end_unclaimed(batch: Batch, item: Item) -> bool:
    """End a first attempt at level `none` EXPIRED if it comes too late to be started; False if it does not.

    A duplicate of its message may have left a record: that decides, and the item is absorbed. Raises Unavailable if the
    end is not certain.
    """
    now = batch.world.clock.now()
    if not is_expired(item.release.occurrence, max(now, item.release.run_at)):
        return False
    plan, stored = replace(batch.world, None, partial(_plan_expired, batch, item.release, now), item.replans)
    if plan.execution is None:
        batch.absorb(item, stored)
    else:
        item.left = True
        batch.report.expired += 1
    return True


def _plan_expired(batch: Batch, release: Deliver, now: int, stored: Execution | None) -> Plan:
    reason = reason_of(release.occurrence)
    if stored is None:
        return Plan(Action.FINISH, reason, expired_execution(release, now, batch.world.execution_expires_at(now)))
    return Plan(Action.ABSORB, "it has ended, or waits for the retry of a duplicate")


def with_records(batch: Batch, items: Sequence[T]) -> list[T]:
    """The items, with the records that those follow which have waited, read in one call.

    A first attempt that has not waited expects no record, so it needs no read. Left out is an item whose record gives
    no answer or cannot be read: it fails.
    """
    read_records(batch, [item for item in items if item.release.has_waited])
    return [item for item in items if not item.left]


def read_records(batch: Batch, items: Sequence[Received]) -> None:
    """Read the records of items in one call, where that was not done before and they may have any."""
    unread = [item for item in items if item.seen is None and not item.is_read and item.release.is_recorded]
    if unread:
        with batch.failing(*unread):
            refs = [(item.release.job_id, item.release.execution_id) for item in unread]
            for item, stored in zip(unread, records_apart(batch.world, refs), strict=True):
                with batch.failing(item):
                    item.seen, item.is_read = readable(stored), True


def look(batch: Batch, items: Sequence[T]) -> list[T]:
    """The items that may be sent anew. Of those that have waited for long the records are read, and renewed.

    One whose execution has ended is absorbed.
    """
    world = batch.world
    now, retention = world.clock.now(), world.retention
    judged = batch.each(items, lambda item: retention.is_to_be_looked_at(item.release.occurrence.due_since, now))
    looked = batch.each([item for item, is_old in judged if is_old], partial(_renew_unless_ended, batch))
    for item, has_ended in looked:
        if has_ended:
            batch.absorb(item, item.seen)
    going = {id(item) for item, is_old in judged if not is_old}
    going |= {id(item) for item, has_ended in looked if not has_ended}
    return [item for item in items if id(item) in going]


def _renew_unless_ended(batch: Batch, item: Received) -> bool:
    """Renew the record of an old item; True if its execution has ended for it instead."""
    release = item.release
    if not release.is_recorded:
        return False
    item.seen = renew(batch.world, item.seen or batch.world.executions.find(release.job_id, release.execution_id))
    return has_ended_for(release, item.seen)


def wish(batch: Batch, item: Item) -> Claim:
    """A claim for one attempt, under a token of its own, until this invocation ends.

    If the attempt ends by a report, the item keeps the token for its receiver, and the claim has the digest alone. A
    worker brings the token's secret with it, and has a lease of its pool.
    """
    world, now = batch.world, batch.world.clock.now()
    expires_at, jitter = world.execution_expires_at(now), 0.0
    if batch.worker is not None and item.secret is not None:
        until = now + batch.worker.lease_ms
        worker = msgspec.structs.replace(batch.worker, permit=item.permit)
        return Claim(claimant_of(item.secret), until, now, expires_at, worker=worker)
    claimant = world.random.token()
    if item.release.occurrence.is_reported:
        item.secret, item.check_key = claimant, next(iter(check_keys(world)), None)
        claimant, jitter = claimant_of(claimant), world.random.fraction()
    # Lanes are reckoned for ordered items alone: this is the way of every delivery.
    order = None if item.release.occurrence.ordering_key is None else item.order_in(world.settings.lanes)
    resends = batch.waiting.resends
    return Claim(claimant, batch.deadline_at, now, expires_at, resends=resends, jitter=jitter, order=order)


def _watched(batch: Batch, plans: Sequence[tuple[Item, Plan]]) -> list[tuple[Item, Plan]]:
    """The plans without the claims of workers that nobody would watch: what is claimed anew is watched first.

    The watch follows the plan, and the claim the watch. A watch that comes before its claim therefore changes the
    record on which that claim rests (`domain/lifecycle/awaited.py`).
    """
    if batch.worker is None:
        return list(plans)
    watches: list[tuple[Item, Watch]] = []
    for item, plan in plans:
        is_new = item.seen is None or item.seen.state is not State.RUNNING
        if plan.action is Action.START and plan.execution is not None and is_new:
            watches.append((item, watch_of(item.release, plan.execution)))
    world = batch.world
    refused = world.releases.send([watch for _, watch in watches], world.clock.now()) if watches else ()
    unwatched = {id(watches[one.index][0]): one.reason for one in refused}
    for item, _ in watches:
        if id(item) in unwatched:
            batch.fail(item, f"its claim would not be watched: {unwatched[id(item)]}")
    return [(item, plan) for item, plan in plans if id(item) not in unwatched]


def end_watched(batch: Batch, watches: Sequence[Received]) -> list[Received]:
    """End the claims that the watches find over, and send what follows. Each other watch is sent again, or is done.

    Returns the watches that ask a service first, of which nothing is decided yet.
    """
    read = with_records(batch, watches)
    judged = batch.each(read, lambda one: isinstance(one.release, Watch) and asks(one.release, one.seen))
    carry_out(batch, [one for one, is_asking in judged if not is_asking], partial(_plan_watch, batch))
    return [one for one, is_asking in judged if is_asking]


def carry_out(batch: Batch, going: Sequence[Received], plan_of: Callable[[Received], Plan]) -> None:
    """Do as is planned for each watch. If its record has changed, plan again with the new one."""
    while going:
        plans = batch.each(going, plan_of)
        lost = []
        for index, saved in batch.save_plans(plans):
            watch, plan = plans[index]
            if not saved.ok:
                lost += [watch] * batch.take_replan(watch, saved.actual)
                continue
            with batch.failing(watch):
                batch.apply_plan(watch, plan)
            if plan.execution is not None and plan.execution.attempts:
                last = plan.execution.attempts[-1].state
                batch.report.workers_lost += last is State.WORKER_LOST
                batch.report.forced_cancels += last is State.CANCELLED
        going = lost


def _plan_watch(batch: Batch, watch: Received) -> Plan:
    assert isinstance(watch.release, Watch), "the inbox has the watches apart"
    return plan_watch(watch.release, watch.seen, claim_of_watch(batch))


def claim_of_watch(batch: Batch) -> Claim:
    """The instant and the odds of a plan for a watch, which claims nothing."""
    now = batch.world.clock.now()
    claim = Claim("", now, now, batch.world.execution_expires_at(now), resends=batch.waiting.resends)
    return msgspec.structs.replace(claim, jitter=batch.world.random.fraction())


def give_back(batch: Batch, item: Item, reason: str) -> None:
    """Give the claim of an item back that does not start, and let the item wait as for a permit, with no attempt used.

    An item for which a cancel was noted meanwhile ends CANCELLED.
    """
    if leave_to_its_watch(item):
        return
    again = msgspec.structs.replace(later(batch, item), checked=False)
    # Whichever duplicate of its message comes first when the way is free may start it: its planned instant stays. But
    # a worker may show the ticket that it had, however often: each show would be a claim in vain, and a new ticket.
    planned_at = item.release.run_at if batch.worker is None else again.run_at
    plan, stored = replace(
        batch.world, item.seen, partial(_plan_given_back, batch, item, planned_at, reason), item.replans
    )
    if plan.action is Action.ABSORB:
        batch.fail(item, LOST_CLAIM)
        return
    item.left = True
    batch.owe(item, stored)
    if plan.action is Action.FOLLOW_UP:
        batch.report.deferred += 1
        item.is_given_back = True
        batch.waiting.follow(item, again)


def later(batch: Batch, item: Item) -> Deliver:
    """The item's release for later, as after it found no permit; each wait is longer than the one before."""
    now, permits = batch.world.clock.now(), item.release.waits.permits
    run_at = now + wait_ms(permits, batch.world.random.fraction()) * batch.waiting.patience(item)
    return hinted(item.release.without_slot().put_off("permit", now, run_at, permits=permits + 1))


def _plan_given_back(batch: Batch, item: Item, planned_at: int, reason: str, stored: Execution | None) -> Plan:
    if stored is None or not is_still_ours(item, stored):
        return Plan(Action.ABSORB, "somebody else has ended it or claimed it by now")
    if stored.cancel_noted_at is not None:
        why_not = "cancelled before its attempt began"
        now = batch.world.clock.now()
        return Plan(Action.FINISH, why_not, plan_unstarted(item.release, stored, State.CANCELLED, why_not, now))
    waiting = plan_return(item.release, stored, reason, planned_at)
    return Plan(Action.FOLLOW_UP, reason, waiting, item.release)


def end_all(batch: Batch, items: Sequence[Item]) -> None:
    """End items as their records allow. Nobody starts one that may start after all: so it comes back."""
    for item in claim(batch, items):
        batch.fail(item, "it may start after all, as the clock was set back")
