"""Shards that are certainly polled.

The flow that puts a row checks its shard afterwards, and takes the shard back into use if necessary.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from clockwork.domain.errors import Unavailable
from clockwork.domain.timeline import Shard, ShardStatus
from clockwork.ports.tables import Shards

#: The number of times that another writer may change a shard's status right before it is taken back here.
MOST_TRIES = 5


def polled(shards: Shards, partition_ids: Sequence[str]) -> Mapping[str, Shard]:
    """The shards as they are, by partitionId, all of them polled from now on.

    A shard that is leaving or has left is taken back. A caller that puts a row calls this *after* the put. Raises
    Unavailable if it is not certain that each shard is polled.
    """
    found = shards.get(partition_ids)
    return {p: one if one.status is ShardStatus.USED else _taken_back(shards, one) for p, one in found.items()}


def _taken_back(shards: Shards, shard: Shard) -> Shard:
    # Its row may not exist: a callback of an ordered job goes to a plain shard whether or not that was ever used.
    shards.register(shard.partition_id)
    for _ in range(MOST_TRIES):
        if shards.change(shard, ShardStatus.USED):
            return msgspec.structs.replace(shard, status=ShardStatus.USED, changes=shard.changes + 1)
        shard = shards.get([shard.partition_id])[shard.partition_id]
        if shard.status is ShardStatus.USED:
            return shard
    raise Unavailable(f"others write the status of shard {shard.partition_id} at the same time")
