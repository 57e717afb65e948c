"""Choose the tickets to claim, by their records: ended executions are gone, running ones keep their claim.

The records of all tickets of a call are read at once, before anything is sent or taken for any of them. A used ticket
therefore sends no watch and takes no slot, however often it is shown. A ticket that waits for a worker with its handler
is gone once its execution has ended.

How it fails. If the records give no answer, the tickets stay, and come back. If a record changes behind the read, the
claim loses its compare-and-set, and is planned again with the stored record.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence
from functools import partial

import msgspec

from clockwork.domain.executions import State
from clockwork.domain.lifecycle.awaited import is_used
from clockwork.domain.lifecycle.retries import meets_again_ms
from clockwork.domain.releases import Release
from clockwork.flows.apart import ASKED_FOR_MS
from clockwork.flows.deliver.admission import admit, still_allowed
from clockwork.flows.deliver.batch import LONGEST_HOLD_MS, Batch
from clockwork.flows.deliver.claim import look, read_records
from clockwork.flows.deliver.concurrency import keep_permit
from clockwork.flows.deliver.inform import informed, unended, unexpired
from clockwork.flows.deliver.items import Item
from clockwork.flows.pools.answers import claimed_within
from clockwork.flows.pools.sharing import Sharing, within_shares
from clockwork.flows.world import World
from clockwork.targets.pool import PoolTarget

log = logging.getLogger(__name__)

#: The longest time (ms) after which a ticket without a handler here is received again: another worker may have the
#: handler.
LONGEST_LACK_MS = 60_000
#: An environment tells of a handler that a worker lacks at most so often (ms).
TOLD_EVERY_MS = 60_000


def claimable(batch: Batch, items: Sequence[Item], handlers: Sequence[str], sharing: Sharing | None) -> list[Item]:
    """The items that the batch's worker may claim: due, wanted, for its handlers, and within the size of its answer.

    The others have ended, are parked, sent anew or moved to the overflow queue, or fail.
    """
    # 1. Read all records in one call. What has ended is gone, and so is a ticket of an attempt that has.
    read_records(batch, items)
    items = look(batch, unended(batch, _unused(batch, items)))
    # 2. What runs is for its claim to decide. It has started as far as pauses, caps and windows go: if it waited or was
    #    parked now, a worker that asks again would get no answer, and its claim would end with nobody at work. What its
    #    client may not do any more is not started, and left to its watch.
    running = [item for item in items if item.seen is not None and item.seen.state is State.RUNNING]
    waiting = [item for item in items if item.seen is None or item.seen.state is not State.RUNNING]
    # 3. End what is not wanted or too late, whoever has its handler, before a worker that lacks it sends it on.
    waiting = unexpired(batch, informed(batch, _in_time(batch, waiting)))
    # 4. Move what is beyond its client's share, and leave what the answer has no room for, before either takes a slot
    #    or a permit.
    waiting = within_shares(batch, _of_handlers(batch, waiting, handlers), sharing)
    running, waiting = claimed_within(batch, running, waiting)
    until = batch.world.clock.now() + ASKED_FOR_MS
    kept = [item for item, _ in batch.each(still_allowed(batch, running), partial(keep_permit, batch, until))]
    return [*kept, *(_whole(item) for item in admit(batch, waiting))]


def _unused(batch: Batch, items: Sequence[Item]) -> list[Item]:
    """The items whose attempts have not ended, as far as their records were read; the others are done with."""
    for item in items:
        if not item.left and is_used(item.release, item.seen):
            batch.absorb(item, item.seen)
    return [item for item in items if not item.left]


def _in_time(batch: Batch, items: Sequence[Item]) -> list[Item]:
    """The items that are due so soon that their worker may wait for it. The others are sent anew."""
    now = batch.world.clock.now()
    ready = {id(item) for item in items if _is_ready(batch, item.release, now)}
    batch.send_back([item for item in items if id(item) not in ready])
    return [item for item in items if id(item) in ready]


def _is_ready(batch: Batch, release: Release, now: int) -> bool:
    return batch.takes(release) and release.run_at - now < LONGEST_HOLD_MS


def _of_handlers(batch: Batch, items: Sequence[Item], handlers: Sequence[str]) -> list[Item]:
    """The items whose handlers the worker has. The others come again, to another worker with some luck."""
    lacking = [item for item in items if _target_of(item).handler not in handlers]
    now = batch.world.clock.now()
    _tell(batch.world, {(target.pool, target.handler) for target in map(_target_of, lacking)}, now)
    for item in lacking:
        meets = item.release.waits.meets
        run_at = max(item.release.run_at, now + min(meets_again_ms(meets), LONGEST_LACK_MS))
        item.release = msgspec.structs.replace(item.release.waiting(meets=meets + 1), run_at=run_at)
    batch.send_back(lacking)
    return [item for item in items if not item.left]


def _tell(world: World, lacking: Collection[tuple[str, str]], now: int) -> None:
    """Tell of handlers, by pool and name, that a worker lacks; of each at most once a minute."""
    told_at = world.environment.lacking_told_at
    for pool, handler in sorted(lacking):
        if now >= told_at.get((pool, handler), 0) + TOLD_EVERY_MS:
            told_at[pool, handler] = now
            extra = {"action": "handler_lacking", "pool": pool, "handler": handler}
            log.warning("a worker of the pool %s has no handler %s: its jobs are put off", pool, handler, extra=extra)


def _target_of(item: Item) -> PoolTarget:
    target = item.release.occurrence.target
    assert isinstance(target, PoolTarget), "whoever claims for a worker takes nothing else"
    return target


def _whole(item: Item) -> Item:
    """The item as it is claimed: the record of a worker's claim keeps the occurrence, of a named job, too."""
    if item.whole is not None:
        item.release = msgspec.structs.replace(item.release, occurrence=item.whole)
    return item
