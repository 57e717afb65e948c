"""The registry of shards: register shards, check them after a put, and take them back if they are leaving.

A shard's row is made before anybody uses the shard. New jobs go to as many plain shards as the setting says. A shard
beyond that number is *given up*: it is polled until all its rows have been released, and only then does the sweeper
retire it (flows/sweep/shards.py).

A flow that puts a row checks the row's shard afterwards. The check takes the shard back into use if it is leaving or
has left. The sweeper retires a shard in two steps with a read between them. Therefore either that read sees the row, or
the check sees the first step. No row is ever put where nobody polls, although the api of another deployment may go on
drawing shards that this deployment gives up.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

from clockwork.domain import keys, ordering
from clockwork.domain.errors import OrderedShardsChanged
from clockwork.domain.timeline import Shard, ShardStatus
from clockwork.flows.world import World
from clockwork.ports.registry import polled

log = logging.getLogger(__name__)

#: Shards that a line of the log names.
MOST_TOLD = 20


def ensure_shards(world: World) -> Sequence[str]:
    """Register all shards that the settings ask for; returns the plain ones, where new jobs may go."""
    all_shards(world)
    return keys.plain_partitions(world.settings.shards)


def all_shards(world: World) -> Sequence[Shard]:
    """Register all shards that the settings ask for; returns all shards to be polled, in order of partitionId."""
    registered = {shard.partition_id: shard for shard in world.shards.all()}
    _register_ordered(world, registered)
    polled = {p: shard for p, shard in registered.items() if shard.status is not ShardStatus.LEFT}
    missing = [p for p in keys.plain_partitions(world.settings.shards) if p not in polled]
    if missing:
        polled |= check_shards(world, missing)
    return [polled[partition_id] for partition_id in sorted(polled)]


def _register_ordered(world: World, registered: Mapping[str, Shard]) -> None:
    """Register ordered shards as LEFT: nobody polls, and pays for, one before the first job is put there.

    Their number stands in a row of its own, written before the first of them. Where that row is gone or cannot be read,
    the shards tell the number, which is written again: they are registered from the first one on, without a gap. A row
    that anybody else has put among them, as `o777`, therefore tells nothing: it is polled like any, and named in the
    log. While the setting is another number nothing is registered.
    """
    ordered = {partition_id for partition_id in registered if keys.is_ordered(partition_id)}
    gapless = next(count for count in range(len(ordered) + 1) if keys.ordered_partition(count) not in ordered)
    made_with = world.shards.ordered_count(gapless or world.settings.ordered_shards)
    world.environment.ordered_shards = made_with
    ours = keys.ordered_partitions(made_with)
    if strays := sorted(ordered.difference(ours)):
        extra = {"action": "stray_shards", "shards": strays[:MOST_TOLD]}
        log.warning("%d rows name ordered shards that this stack does not have", len(strays), extra=extra)
    for partition_id in ours if made_with == world.settings.ordered_shards else ():
        if partition_id not in registered:
            world.shards.register(partition_id, ShardStatus.LEFT)


def check_shards(world: World, partition_ids: Sequence[str]) -> Mapping[str, Shard]:
    """The shards as they are, by partitionId, all of them polled from now on.

    A shard that is leaving or has left is taken back. A caller that puts a row calls this *after* the put. Raises
    Unavailable if it is not certain that each shard is polled.
    """
    return polled(world.shards, partition_ids)


def is_given_up(world: World, partition_id: str) -> bool:
    """Whether this is a plain shard beyond those that the setting asks for."""
    return not keys.is_ordered(partition_id) and keys.index_of(partition_id) >= world.settings.shards


def ordered_home(world: World, client_id: str, ordering_key: str) -> str:
    """The partitionId of an ordering key's ordered shard.

    Raises OrderedShardsChanged if the setting asks for another number of ordered shards than there is: in another shard
    the key's new jobs would overtake those that wait in this one.
    """
    if world.environment.ordered_shards is None:
        all_shards(world)
    reason = refused_setting(world)
    if reason is not None:
        raise OrderedShardsChanged(reason)
    return ordering.partition_of(client_id, ordering_key, world.settings.ordered_shards)


def refused_setting(world: World) -> str | None:
    """Why ordered jobs are refused, if the settings ask for another number of ordered shards than there is.

    None if they are not refused, or if the number is not known yet.
    """
    made_with, asked = world.environment.ordered_shards, world.settings.ordered_shards
    if made_with in (None, asked):
        return None
    return (
        f"the setting ordered_shards is {asked}, but this stack was made with {made_with}, which cannot be changed: "
        f"ordered jobs are refused until {made_with} is deployed again"
    )
