"""Share a pool's workers among its clients: a ticket beyond its client's share goes to the overflow queue.

A queue hands tickets out by their age, so that a client's flood would start before all tickets behind it. A worker
draws from the queue of a priority before its overflow queue, and from the overflow queue whenever the other is empty.
No worker is idle therefore while any ticket waits.

How it fails. If the call dies behind the send, the ticket comes back to its queue as well, and the claim absorbs the
duplicate. A ticket is moved once for each attempt, since its release says so. A new environment knows nobody: it learns
of a client by its first ticket, or by a worker that had one. No ticket is moved for a worker that does not receive from
overflow queues. If such workers alone are left, a moved ticket waits for its check, which sends it to the first queue.
If an overflow queue refuses a ticket, the first queue gets the ticket (`flows/sealing.py: Tickets`). For a minute
nothing is moved then: tickets start in the order of their age, and shares are not kept.

A client whose tickets are beyond its share again and again is noted, and senders put all of its tickets into the
overflow queue (`domain/pools/floods.py`). If the note gives no answer, it is tried again some seconds later.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

import msgspec

from clockwork.domain.pools.floods import Overflow, renewed
from clockwork.domain.pools.shares import LATE_MS, Held, beyond_share, has_share
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
    for (pool, priority), some in by_queue.items():
        shares.meet(pool, priority, [*told, *map(_client_of, some)], now)
        if sharing is not None and not shares.is_shut(pool, now):
            _share(batch, pool, priority, some, now)
    return [item for item in items if not item.left]


def _share(batch: Batch, pool: str, priority: str, items: Sequence[Item], now: int) -> None:
    """Move the tickets beyond their clients' shares, and note the clients of which there are many.

    A moved ticket that is late in the overflow queue counts as well, so that a flood is noted for as long as it lasts.
    """
    shares, note = batch.world.environment.shares, _noted(batch.world, pool)
    held, met = shares.held(pool, now), shares.met(pool, priority, now)
    late = [item for item in items if _waited_ms(item, now) >= LATE_MS]
    asking = [_client_of(item) for item in items]
    beyond = [item for item in late if item.release.spilled and has_share(_client_of(item), asking, held, met)]
    if any(not item.release.spilled for item in late):
        new = [item for item in items if not item.release.spilled]
        flooding = frozenset[str]() if note is None else note.flooding(priority, now)
        places = beyond_share([_client_of(item) for item in new], held, met, flooding)
        _move(batch, [new[place] for place in places])
        beyond += [new[place] for place in places]
    floods = {(priority, one) for one in map(_client_of, beyond) if shares.note_beyond(pool, priority, one, now)}
    _note(batch.world, pool, note, floods, now)


def _noted(world: World, pool: str) -> Overflow | None:
    """The note of overflow, as it was read a moment ago. Without an answer: none, and it is written anew."""
    with tolerated(world, log, "overflow is not read: %s", {"action": "overflow_not_read", "pool": pool}):
        return world.pools.overflow(pool)
    return None


def _note(world: World, pool: str, note: Overflow | None, floods: Collection[tuple[str, str]], now: int) -> None:
    """Note for senders that workers receive from overflow queues, and which clients flood which priorities.

    Another environment may have written since `note` was read. If both write at once, one flood is noted a little
    later.
    """
    if renewed(note, floods, now) is None or not world.environment.shares.begin_note(pool, now):
        return
    with tolerated(world, log, "overflow is not noted: %s", {"action": "overflow_not_noted", "pool": pool}):
        changed = renewed(world.pools.overflow(pool, fresh=True), floods, now)
        if changed is not None:
            world.pools.note_overflow(pool, changed)


def note_started(world: World, pool: str, sharing: Sharing | None, started: Iterable[Item]) -> None:
    """Note the attempts that a worker gets to start, if any, beside those that it had."""
    new = Counter(map(_client_of, started))
    if sharing is not None and new:
        by_client = Counter(sharing.by_client)
        by_client.update(new)
        held = Held(sharing.slots, by_client)
        world.environment.shares.hold(pool, sharing.worker_id, held, world.clock.now())


def _client_of(item: Item) -> str:
    return item.release.occurrence.client_id


def _waited_ms(item: Item, now: int) -> int:
    """How long its ticket could be claimed (ms): since its instant, or since it was sent if that came later."""
    return now - max(item.release.run_at, item.sent_at)


def _move(batch: Batch, items: Sequence[Item]) -> None:
    for item in items:
        item.release = msgspec.structs.replace(item.release, spilled=True)
    batch.send_back(items)
