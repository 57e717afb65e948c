"""The registry of shards: a shard's row is made before anybody uses the shard.

New jobs go to as many plain shards as the setting says. One beyond it is *given up*: it is polled until all that it
holds has been released, and only then leaves the registry. For as long as it holds anything, that is refused.

Whoever puts a row looks at its shard afterwards, and takes it back if it is leaving or has left. A shard leaves in two
steps with a read between them. So either that read sees the row, or who put it sees the first step: nothing is ever put
where nobody polls, although an api of another deployment may go on drawing what this one gives up.
"""

from __future__ import annotations

import logging

import msgspec

from clockwork.domain import keys
from clockwork.domain.errors import Unavailable
from clockwork.domain.timeline import Shard, ShardStatus
from clockwork.flows.timeline.shards import is_given_up
from clockwork.flows.world import World

log = logging.getLogger(__name__)


#: What letting one shard go may take at the most (ms).
STOP_MARGIN_MS = 10_000


class Retirements(msgspec.Struct):
    """How many of the shards that were given up left the registry, and how many still hold something."""

    removed: int = 0
    kept: int = 0


def retire_shards(world: World, deadline_at: int) -> Retirements:
    """Let every shard that was given up leave the registry if it is drained; otherwise it stays, and is polled."""
    retirements = Retirements()
    given_up = [partition_id for partition_id in world.shards.list() if is_given_up(world, partition_id)]
    for shard in world.shards.get(given_up).values() if given_up else ():
        left = world.clock.now() < deadline_at - STOP_MARGIN_MS and _retires(world, shard)
        retirements.removed += left
        retirements.kept += not left
    if retirements.kept:
        log.info("%d shards beyond the setting hold jobs", retirements.kept, extra={"action": "shards_kept"})
    return retirements


def _retires(world: World, shard: Shard) -> bool:
    try:
        return _retire(world, shard)
    except Unavailable as error:
        # Wherever it stopped, whoever puts a row takes the shard back, and the next sweep begins again.
        log.warning("shard kept: %s", error, extra={"action": "shard_kept", "shard": shard.partition_id})
        return False


def _retire(world: World, shard: Shard) -> bool:
    # 1. Nothing is written for a shard that plainly holds something.
    if _holds_rows(world, shard):
        return False
    # 2. Tell everybody that it is about to leave: who puts a row from now on takes it back.
    if not world.shards.change(shard, ShardStatus.LEAVING):
        return False
    # 3. Read again: this sees the rows of all who looked before, and saw nothing of it.
    if _holds_rows(world, shard):
        return False
    # 4. Leave, unless it was taken back meanwhile.
    leaving = msgspec.structs.replace(shard, changes=shard.changes + 1)
    return world.shards.change(leaving, ShardStatus.LEFT)


def _holds_rows(world: World, shard: Shard) -> bool:
    """Whether there is anything behind the cursor, as far as that was when the shard was read, or further."""
    page = world.timeline.read(shard.partition_id, shard.cursor, keys.END, 1)
    return bool(page.rows) or page.more
