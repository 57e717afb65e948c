"""The registry of shards: a shard's row is made before anybody uses the shard."""

from __future__ import annotations

from collections.abc import Sequence

from clockwork.domain.keys import plain_partitions
from clockwork.flows.world import World


def ensure_shards(world: World) -> Sequence[str]:
    """The partitionIds of all shards, after those that the settings ask for have been registered."""
    registered = world.shards.list()
    missing = [p for p in plain_partitions(world.settings.shards) if p not in set(registered)]
    for partition_id in missing:
        world.shards.register(partition_id)
    return sorted({*registered, *missing})
