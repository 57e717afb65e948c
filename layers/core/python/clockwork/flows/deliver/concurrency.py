"""Concurrency: as many deliveries of a client at once as its cap or its share allows, by permits leased in blocks.

An invocation leases a block of permits, and gives it back as soon as its deliveries have ended. An environment that
kept its block for the next batch would keep it from the other environments, to which Lambda may hand the client's next
messages.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import islice

from clockwork.domain.clients import Client
from clockwork.domain.errors import Unavailable
from clockwork.domain.executions import Outcome, State
from clockwork.domain.lifecycle.awaiting import CLAIM_GRACE_MS, Worker
from clockwork.domain.lifecycle.tokens import claimant_of
from clockwork.domain.limits.concurrency import (
    NONE_FREE_FOR_MS,
    SLOW_FOR_MS,
    SLOW_MS,
    Blocks,
    free_permits,
    limit_of,
    share_of,
    wait_ms,
)
from clockwork.flows.apart import ASKED_FOR_MS
from clockwork.flows.containment import why
from clockwork.flows.deliver.batch import Batch
from clockwork.flows.deliver.items import Item, LeasedBlock
from clockwork.flows.deliver.slots import with_slots
from clockwork.flows.outages import tolerated
from clockwork.flows.world import World

log = logging.getLogger(__name__)

#: An environment tries so many blocks before it takes the limit to be reached: others may be faster with each.
BLOCKS_TRIED = 4
#: An occurrence that is sent back returns after whole seconds, and is due this much later (ms): the time that the send
#: may take. Otherwise the queue would show it up to a second too soon, and it would hold its block until it is due.
SENT_WITHIN_MS = 50


def note_company(world: World, items: Sequence[Item]) -> None:
    """Note whose messages a batch has. A client that has waited for a permit crowds, however small the batch is."""
    now, company = world.clock.now(), world.environment.company
    clients = {item.message_id: item.release.occurrence.client_id for item in items}
    company.note(Counter(clients.values()), now)
    for item in items:
        if item.release.waits.permits:
            company.note_crowding(item.release.occurrence.client_id, now)


def blocks_of(world: World, client_id: str, client: Client | None) -> Blocks | None:
    """The blocks of permits of a client: of its cap, or else of its share. None while it needs no permits.

    A client without a cap needs them where it is slow or crowds and others were met. Alone, it may take every
    deliverer.
    """
    if (cap := limit_of(client)) is not None:
        return cap
    environment = world.environment
    is_slow = world.clock.now() < environment.slow_until.get(client_id, 0)
    if not environment.company.has_others(client_id) or not (is_slow or environment.company.crowds(client_id)):
        return None
    return share_of(world.settings.deliverer_concurrency, environment.company.crowding_with(client_id))


def within_concurrency(batch: Batch, client: Client | None, blocks: Blocks | None, items: Sequence[Item]) -> list[Item]:
    """Of one client's items, as many as its permits let run at once; the others are sent back for later."""
    client_id = items[0].release.occurrence.client_id
    if batch.worker is not None:
        return _within_cap_of_workers(batch, batch.worker, client, items)
    if blocks is None:
        return _slotted(batch, client, items)
    now = batch.world.clock.now()
    number = _lease(batch, client_id, blocks, now)
    # Those whose slots are now go before those that have yet to take any.
    items = sorted(items, key=lambda item: not item.release.waits.paced)
    free = 0 if number is None else len(items[: blocks.size])
    going = _slotted(batch, client, items[:free])
    if number is not None:
        batch.leased[client_id] = LeasedBlock(number, len(going))
        if not going:
            _give_back(batch, client_id)
    if free < len(items):
        _send_back(batch, items[free:], now)
    return going


def _within_cap_of_workers(batch: Batch, worker: Worker, client: Client | None, items: Sequence[Item]) -> list[Item]:
    """One client's items, as many as its workers may run at once. The others are sent back for later.

    Each holds a permit of its own, which outlives this call with the claim. Workers take no deliverer: among clients
    without a limit there is nothing to share.
    """
    client_id = items[0].release.occurrence.client_id
    if client is None or client.max_concurrency is None:
        return _slotted(batch, client, items)
    now = batch.world.clock.now()
    with _asking(batch):
        free = free_permits(client.max_concurrency, batch.world.regulation.taken(client_id, now))
    ordered = sorted(items, key=lambda item: not item.release.waits.paced)
    holding = [item for item, holds in batch.each(ordered, partial(_hold, batch, worker, free, now)) if holds]
    going = _slotted(batch, client, holding)
    starting, held = {id(item) for item in going}, {id(item) for item in holding}
    give_back_permits(batch, [item for item in holding if id(item) not in starting])
    if without := [item for item in ordered if id(item) not in held and not item.left]:
        _send_back(batch, without, now)
    return going


def _hold(batch: Batch, worker: Worker, free: list[int], now: int, item: Item) -> bool:
    """Lease a permit for an item; True if one was free."""
    assert item.secret is not None, "a worker's item has the secret of its token"
    holder, until = claimant_of(item.secret), now + worker.lease_ms + CLAIM_GRACE_MS
    client_id = item.release.occurrence.client_id
    for _ in range(min(BLOCKS_TRIED, len(free))):
        number = free.pop(batch.world.random.below(len(free)))
        with _asking(batch):
            if batch.world.regulation.lease(client_id, number, holder, now, until):
                item.permit, item.permit_until = number, until
                return True
    return False


def keep_permit(batch: Batch, until: int, item: Item) -> None:
    """Lease the permit anew that a worker holds by the claim that it repeats. It takes no other one.

    Raises Unavailable if another attempt has it by now: this one was silent until it was free, and its watch ends it.
    No permit is asked for any more from `until` (ms) on.
    """
    assert batch.worker is not None and item.secret is not None, "a worker's item has the secret of its token"
    seen, holder, now = item.seen, claimant_of(item.secret), batch.world.clock.now()
    if seen is None or seen.claimant != holder or seen.awaited is None or seen.awaited.permit is None:
        return
    # Whatever becomes of this call, the attempt that another one has answered keeps its permit.
    item.is_repeated = seen.state is State.RUNNING
    _ask_no_longer_than(batch, until)
    item.permit, item.permit_until = seen.awaited.permit, now + batch.worker.lease_ms + CLAIM_GRACE_MS
    client_id = item.release.occurrence.client_id
    if not batch.world.regulation.lease(client_id, item.permit, holder, now, item.permit_until):
        raise Unavailable("another attempt has its permit by now")


@contextmanager
def _asking(batch: Batch) -> Iterator[None]:
    """Ask for permits, for a bounded time in the whole of a worker's call: those of others are to be answered, too.

    Raises Unavailable once that time is over.
    """
    _ask_no_longer_than(batch, batch.world.clock.now() + batch.permits_ms)
    began_at = batch.world.clock.now()
    try:
        yield
    finally:
        batch.permits_ms -= batch.world.clock.now() - began_at


def _ask_no_longer_than(batch: Batch, until: int) -> None:
    """Raise Unavailable from `until` (ms) on: slow permits of one client must not use up the call for the others."""
    if batch.world.clock.now() >= until:
        raise Unavailable("the permits take too long to answer")


def give_back_permits(batch: Batch, items: Sequence[Item]) -> None:
    """Give back the permits of items that no worker starts, for a bounded time."""
    until = batch.world.clock.now() + ASKED_FOR_MS
    for item in items:
        if item.permit is not None and item.secret is not None:
            # If it is not given back, it is free again when its lease ends.
            with tolerated(batch.world, log, "permit not given back: %s", {"action": "permit_not_given_back"}):
                _ask_no_longer_than(batch, until)
                client_id, holder = item.release.occurrence.client_id, claimant_of(item.secret)
                batch.world.regulation.give_back(client_id, item.permit, holder, item.permit_until)


def _slotted(batch: Batch, client: Client | None, items: Sequence[Item]) -> list[Item]:
    """The items that nothing holds back any more: those that gave their slots up for a permit take new ones.

    A fault fails these items alone, and those of them alone that are not done with.
    """
    if all(item.release.waits.paced for item in items):
        return list(items)
    try:
        return with_slots(batch, client, list(items), has_permits=True)
    except Exception as error:  # noqa: BLE001 - whatever one item raises, the items beside these were sent back
        why_not = why(batch.world.environment.faults, error, items[0].release.occurrence.client_id)
        for item in items:
            if not item.left:
                batch.fail(item, why_not)
    return []


def _send_back(batch: Batch, items: Sequence[Item], now: int) -> None:
    """Send items back that found no permit: together, so that they come again as one batch and take one block.

    Their slots pass meanwhile. If they kept them, all that waited would start at once as soon as permits are free.
    """
    fraction = batch.world.random.fraction()
    for item in items:
        permits = item.release.waits.permits
        seconds = round(wait_ms(permits, fraction) * batch.waiting.patience(item) / 1000)
        run_at = now + seconds * 1000 + SENT_WITHIN_MS
        item.release = item.release.without_slot().put_off("permit", now, run_at, permits=permits + 1)
    batch.send_back(items)


def note_ended(batch: Batch, ended: Sequence[tuple[Item, Outcome]]) -> None:
    """Give back the blocks whose deliveries have all ended, and note the clients whose targets are slow."""
    environment = batch.world.environment
    for item, outcome in ended:
        client_id = item.release.occurrence.client_id
        if outcome.ended_at - outcome.started_at >= SLOW_MS:
            environment.slow_until[client_id] = batch.world.clock.now() + SLOW_FOR_MS
        leased = batch.leased.get(client_id)
        if leased is not None:
            leased.running -= 1
            if leased.running == 0:
                _give_back(batch, client_id)


def give_back_all(batch: Batch) -> None:
    """Give back the remaining blocks: some of their deliveries were never started."""
    for client_id in list(batch.leased):
        _give_back(batch, client_id)


def _lease(batch: Batch, client_id: str, blocks: Blocks, now: int) -> int | None:
    """Lease a block until this invocation ends; returns its number, or None if none is free."""
    environment = batch.world.environment
    if now < environment.none_free_until.get(client_id, 0):
        return None
    for number in islice(_candidates(batch.world, client_id, blocks.count, now), BLOCKS_TRIED):
        if batch.world.regulation.lease(client_id, number, environment.name, now, batch.deadline_at):
            return number
    environment.none_free_until[client_id] = now + NONE_FREE_FOR_MS
    return None


def _candidates(world: World, client_id: str, count: int, now: int) -> Iterator[int]:
    """Numbers of blocks that may be free: first the one that this environment gave back last, or any one.

    If that is taken, those that are free follow, as one read tells.
    """
    first = world.environment.last_block.pop(client_id, count)
    if first >= count:
        first = world.random.below(count)
    yield first
    if count > 1:
        taken = world.regulation.taken(client_id, now)
        free = [number for number in range(count) if number != first and number not in taken]
        while free:
            yield free.pop(world.random.below(len(free)))


def _give_back(batch: Batch, client_id: str) -> None:
    leased = batch.leased.pop(client_id)
    batch.world.environment.last_block[client_id] = leased.number
    # If it is not given back, the block is free again when its lease ends, with this invocation's time.
    with tolerated(batch.world, log, "block not given back: %s", {"action": "block_not_given_back"}):
        batch.world.regulation.give_back(client_id, leased.number, batch.world.environment.name, batch.deadline_at)
