"""Share a pool's workers among its clients: a ticket beyond its client's share goes to the overflow queue.

A queue hands tickets out by their age, so that a client's flood would start before all tickets behind it. A worker
draws from the queue of a priority before its overflow queue, and from the overflow queue whenever the other is empty.
No worker is idle therefore while any ticket waits.

How it fails. If the call dies behind the send, the ticket comes back to its queue as well, and the claim absorbs one
copy. A ticket is moved once for each attempt, since its release says so. A new environment knows nobody: it learns of a
client by its first ticket, or by a worker that had one. No ticket is moved for a worker that does not receive from
overflow queues. If such workers alone are left, a moved ticket waits for its check, which sends it to the first queue.
If an overflow queue refuses a ticket, the first queue gets the ticket (`flows/sealing.py: Tickets`). For a minute
nothing is moved then: tickets start in the order of their age, and shares are not kept.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from clockwork.domain.pools.shares import LATE_MS, Held, beyond_share
from clockwork.flows.deliver.batch import Batch
from clockwork.flows.deliver.items import Item
from clockwork.flows.outages import tolerated
from clockwork.flows.world import World
from clockwork.targets.pool import PoolTarget

log = logging.getLogger(__name__)


class Sharing(msgspec.Struct, frozen=True):
    """The name of a worker that receives from overflow queues, too, with its slots, and its attempts by client.

    Clients of whom it had tickets lately, and has no attempt, are there with 0.
    """

    worker_id: str
    slots: int
    by_client: Mapping[str, int]


def within_shares(batch: Batch, items: Sequence[Item], sharing: Sharing | None) -> list[Item]:
    """The items that their clients' shares have room for, and those that were moved before. The others are moved.

    `sharing`: None if the worker does not receive from overflow queues. The worker's word counts once it has a ticket
    that waits: nobody tells of overflow queues by a made-up or a used one. Nothing is moved while no ticket is late, as
    there are workers enough then.
    """
    if not items:
        return []
    shares, now = batch.world.environment.shares, batch.world.clock.now()
    told: Mapping[str, int] = {} if sharing is None else sharing.by_client
    by_queue: dict[tuple[str, str], list[Item]] = {}
    for item in items:
        target = item.release.occurrence.target
        assert isinstance(target, PoolTarget), "a worker claims nothing else"
        by_queue.setdefault((target.pool, target.priority), []).append(item)
    if sharing is not None and batch.worker is not None:
        shares.hold(batch.worker.pool, sharing.worker_id, Held(sharing.slots, told), now)
        _note_overflow(batch.world, batch.worker.pool, now)
    for (pool, priority), some in by_queue.items():
        shares.meet(pool, priority, [*told, *map(_client_of, some)], now)
        new = [item for item in some if not item.release.spilled]
        is_late = any(_waited_ms(item, now) >= LATE_MS for item in new)
        if sharing is not None and is_late and not shares.is_shut(pool, now):
            asking = [_client_of(item) for item in new]
            places = beyond_share(asking, shares.held(pool, now), shares.met(pool, priority, now))
            _move(batch, [new[place] for place in places])
    return [item for item in items if not item.left]


def note_started(world: World, pool: str, sharing: Sharing | None, started: Iterable[Item]) -> None:
    """Note the attempts that a worker gets to start, if any, beside those that it had."""
    new = Counter(map(_client_of, started))
    if sharing is not None and new:
        by_client = Counter(sharing.by_client)
        by_client.update(new)
        held = Held(sharing.slots, by_client)
        world.environment.shares.hold(pool, sharing.worker_id, held, world.clock.now())


def _note_overflow(world: World, pool: str, now: int) -> None:
    """Note that workers receive from overflow queues, so that senders put floods there."""
    if world.environment.shares.is_to_be_noted(pool, now):
        with tolerated(world, log, "overflow is not noted: %s", {"action": "overflow_not_noted", "pool": pool}):
            world.pools.note_overflow(pool, now)
            world.environment.shares.noted(pool, now)


def _client_of(item: Item) -> str:
    return item.release.occurrence.client_id


def _waited_ms(item: Item, now: int) -> int:
    """How long its ticket could be claimed (ms): since its instant, or since it was sent if that came later."""
    return now - max(item.release.run_at, item.sent_at)


def _move(batch: Batch, items: Sequence[Item]) -> None:
    for item in items:
        item.release = msgspec.structs.replace(item.release, spilled=True)
    batch.send_back(items)
