"""The registry of shards: a shard's row is made before anybody uses the shard.

New jobs go to as many plain shards as the setting says. One beyond it is *given up*: it is polled until all that it
holds has been released, and only then leaves the registry. For as long as it holds anything, that is refused.

Whoever puts a row looks at its shard afterwards, and takes it back if it is leaving or has left. A shard leaves in two
steps with a read between them. So either that read sees the row, or who put it sees the first step: nothing is ever put
where nobody polls, although an api of another deployment may go on drawing what this one gives up.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

import msgspec

from clockwork.domain import keys, ordering
from clockwork.domain.errors import OrderedShardsChanged, Unavailable
from clockwork.domain.timeline import Shard, ShardStatus
from clockwork.flows.world import World

log = logging.getLogger(__name__)


#: How often somebody else may have written a shard's status just before us.
MOST_TRIES = 5


def ensure_shards(world: World) -> Sequence[str]:
    """The plain shards that new jobs may go to, after all that the settings ask for have been registered."""
    all_shards(world)
    return keys.plain_partitions(world.settings.shards)


def all_shards(world: World) -> Sequence[Shard]:
    """All shards to be polled, in order, after all that the settings ask for have been registered."""
    registered = {shard.partition_id: shard for shard in world.shards.all()}
    _register_ordered(world, registered)
    polled = {p: shard for p, shard in registered.items() if shard.status is not ShardStatus.LEFT}
    missing = [p for p in keys.plain_partitions(world.settings.shards) if p not in polled]
    if missing:
        polled |= check_shards(world, missing)
    return [polled[partition_id] for partition_id in sorted(polled)]


def _register_ordered(world: World, registered: Mapping[str, Shard]) -> None:
    """As such that have left: nobody polls, and pays for, an ordered shard before the first job is put there."""
    ordered = [keys.index_of(partition_id) for partition_id in registered if keys.is_ordered(partition_id)]
    # The last of them is registered first, so that from the first moment on the registry tells how many there are.
    made_with = max(ordered) + 1 if ordered else world.settings.ordered_shards
    world.environment.ordered_shards = made_with
    for partition_id in reversed(keys.ordered_partitions(made_with)):
        if partition_id not in registered:
            world.shards.register(partition_id, ShardStatus.LEFT)


def check_shards(world: World, partition_ids: Sequence[str]) -> Mapping[str, Shard]:
    """The shards as they are, all of them polled from now on.

    Whoever put a row calls this *after* the put. Raises Unavailable if it is not certain that somebody polls.
    """
    shards = world.shards.get(partition_ids)
    return {p: one if one.status is ShardStatus.USED else _taken_back(world, one) for p, one in shards.items()}


def is_given_up(world: World, partition_id: str) -> bool:
    """Whether it is a plain shard beyond those that the setting asks for."""
    return not keys.is_ordered(partition_id) and keys.index_of(partition_id) >= world.settings.shards


def ordered_home(world: World, client_id: str, ordering_key: str) -> str:
    """The ordered shard of a key. Raises OrderedShardsChanged: elsewhere it would overtake what waits there."""
    if world.environment.ordered_shards is None:
        all_shards(world)
    reason = refused_setting(world)
    if reason is not None:
        raise OrderedShardsChanged(reason)
    return ordering.partition_of(client_id, ordering_key, world.settings.ordered_shards)


def refused_setting(world: World) -> str | None:
    """Why no ordered job can be placed, if the settings ask for another number of ordered shards than there is."""
    made_with, asked = world.environment.ordered_shards, world.settings.ordered_shards
    if made_with in (None, asked):
        return None
    return (
        f"the setting ordered_shards is {asked}, but this stack was made with {made_with}, which cannot be changed: "
        f"ordered jobs are refused until {made_with} is deployed again"
    )


def _taken_back(world: World, shard: Shard) -> Shard:
    # Nobody has used it before: a callback of an ordered job goes to a plain shard whether or not there is one.
    world.shards.register(shard.partition_id)
    for _ in range(MOST_TRIES):
        if world.shards.change(shard, ShardStatus.USED):
            return msgspec.structs.replace(shard, status=ShardStatus.USED, changes=shard.changes + 1)
        shard = world.shards.get([shard.partition_id])[shard.partition_id]
        if shard.status is ShardStatus.USED:
            return shard
    raise Unavailable(f"others write the status of shard {shard.partition_id} at the same time")
