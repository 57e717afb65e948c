"""The registry of shards: a shard's row is made before anybody uses the shard.

A shard is never taken out of it: an api environment of an earlier deployment might still draw it. One beyond the
setting is drawn no more and polled all the same, until what it holds is done and for good.
"""

from __future__ import annotations

from collections.abc import Sequence

from clockwork.domain.keys import ordered_partitions, plain_partitions
from clockwork.flows.world import World


def ensure_shards(world: World) -> Sequence[str]:
    """The plain shards that new jobs may go to, after all that the settings ask for have been registered."""
    all_shards(world)
    return plain_partitions(world.settings.shards)


def all_shards(world: World) -> Sequence[str]:
    """The partitionIds of all registered shards, plain and ordered, those that the settings ask for among them."""
    settings = world.settings
    registered = world.shards.list()
    wanted = (*plain_partitions(settings.shards), *ordered_partitions(settings.ordered_shards))
    missing = [partition_id for partition_id in wanted if partition_id not in set(registered)]
    for partition_id in missing:
        world.shards.register(partition_id)
    return sorted({*registered, *missing})
