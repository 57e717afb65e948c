"""Retire shards that were given up: each leaves the registry once it is drained.

New jobs go to as many plain shards as the setting says. A shard beyond that number is *given up*: it is polled until
all its rows have been released, and only then is it retired. As long as it holds a row, it is not.

A shard leaves in two steps, LEAVING and LEFT, with a read between them. A flow that puts a row checks the row's shard
afterwards, and takes it back if it is leaving or has left (flows/timeline/shards.py). Therefore either the read sees
the row, or the check sees the first step. No row is ever put where nobody polls, although the api of another deployment
may go on drawing shards that this deployment gives up.
"""

from __future__ import annotations

import logging

import msgspec

from clockwork.domain import keys
from clockwork.domain.errors import Unreadable
from clockwork.domain.timeline import Shard, ShardStatus
from clockwork.flows.outages import tolerated
from clockwork.flows.timeline.shards import is_given_up
from clockwork.flows.world import World

log = logging.getLogger(__name__)


#: To retire one shard may take this long at the most (ms).
STOP_MARGIN_MS = 10_000


class Retirements(msgspec.Struct):
    """How many of the given-up shards left the registry, and how many stay, such as those that still hold rows."""

    removed: int = 0
    kept: int = 0


def retire_shards(world: World, deadline_at: int) -> Retirements:
    """Retire every given-up shard that is drained, as far as time allows before `deadline_at` (ms).

    The others stay, and are polled.
    """
    retirements = Retirements()
    given_up = [partition_id for partition_id in world.shards.list() if is_given_up(world, partition_id)]
    for partition_id in given_up:
        left = world.clock.now() < deadline_at - STOP_MARGIN_MS and _try_to_retire(world, partition_id)
        retirements.removed += left
        retirements.kept += not left
    if retirements.kept:
        log.info("%d shards beyond the setting hold jobs", retirements.kept, extra={"action": "shards_kept"})
    return retirements


def _try_to_retire(world: World, partition_id: str) -> bool:
    # Wherever this stops, the next flow that puts a row takes the shard back, and the next sweep begins again.
    with tolerated(world, log, "shard kept: %s", {"action": "shard_kept", "shard": partition_id}, Unreadable):
        return _retire(world, world.shards.get([partition_id])[partition_id])
    return False


def _retire(world: World, shard: Shard) -> bool:
    # 1. Read: for a shard that plainly holds rows nothing is written.
    if _holds_rows(world, shard):
        return False
    # 2. Mark the shard LEAVING: a flow that puts a row from now on sees the mark, and takes the shard back.
    if not world.shards.change(shard, ShardStatus.LEAVING):
        return False
    # 3. Read again: this sees the rows of all flows that checked the shard before, and saw no mark.
    if _holds_rows(world, shard):
        return False
    # 4. Mark it LEFT, unless it was taken back meanwhile.
    leaving = msgspec.structs.replace(shard, changes=shard.changes + 1)
    return world.shards.change(leaving, ShardStatus.LEFT)


def _holds_rows(world: World, shard: Shard) -> bool:
    """Whether the shard has rows behind its cursor, or some in its quarantine.

    The cursor may have moved on since the shard was read.
    """
    page = world.timeline.read(shard.partition_id, shard.cursor, keys.END, 1)
    return bool(page.rows) or page.more or shard.quarantined > 0
