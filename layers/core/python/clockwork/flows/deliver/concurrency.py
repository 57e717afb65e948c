"""Concurrency cap of a client (a semaphore): as many deliveries at once as its permits allow, leased in blocks.

An invocation leases a block of permits, and gives it back as soon as its deliveries have ended. An environment that
kept its block for the next batch would keep it from the other environments, to which Lambda may hand the client's next
messages.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from clockwork.domain.clients import Client
from clockwork.domain.executions import Outcome
from clockwork.domain.limits.concurrency import SLOW_FOR_MS, SLOW_MS, Blocks, blocks_of, cap_of, wait_ms
from clockwork.flows.deliver.batch import Batch
from clockwork.flows.deliver.items import Item, LeasedBlock
from clockwork.flows.outages import tolerated

log = logging.getLogger(__name__)

#: An environment tries so many blocks before it takes the cap to be reached.
BLOCKS_TRIED = 4


def within_concurrency(batch: Batch, client: Client | None, items: Sequence[Item]) -> list[Item]:
    """Of one client's items, as many as its permits let run at once; the others are sent back for later.

    A client without a cap needs permits only for a while after its targets were slow.
    """
    world = batch.world
    now = world.clock.now()
    client_id = items[0].release.occurrence.client_id
    is_slow = now < world.environment.slow_until.get(client_id, 0)
    if not is_slow and (client is None or client.max_concurrency is None):
        return list(items)
    blocks = blocks_of(cap_of(client, world.settings.deliverer_concurrency))
    number = _lease(batch, client_id, blocks, now)
    going = [] if number is None else list(items[: blocks.size])
    if number is not None:
        batch.leased[client_id] = LeasedBlock(number, len(going))
    later = items[len(going) :]
    for item in later:
        waits = item.release.waits
        back_at = max(item.release.run_at, now + wait_ms(waits, world.random.fraction()) * batch.waiting.patience(item))
        item.release = item.release.put_off("permit", now, back_at, waits=waits + 1)
    batch.send_back(later)
    return going


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
    """Lease a block until this invocation ends; returns its number, or None if none of those tried is free."""
    world = batch.world
    first = world.random.below(blocks.count)
    for step in range(min(blocks.count, BLOCKS_TRIED)):
        number = (first + step) % blocks.count
        if world.regulation.lease(client_id, number, world.environment.name, now, batch.deadline_at):
            return number
    return None


def _give_back(batch: Batch, client_id: str) -> None:
    leased = batch.leased.pop(client_id)
    # If it is not given back, the block is free again when its lease ends, with this invocation's time.
    with tolerated(batch.world, log, "block not given back: %s", {"action": "block_not_given_back"}):
        batch.world.regulation.give_back(client_id, leased.number, batch.world.environment.name)
