"""A minute passes: start a poller for each shard, and one for several where little happens."""

from __future__ import annotations

import logging

import msgspec

from clockwork.domain.errors import Unavailable
from clockwork.domain.polls import Poll, plan_polls
from clockwork.domain.timeline import Shard
from clockwork.flows.registry import all_shards, refused_setting
from clockwork.flows.world import World

log = logging.getLogger(__name__)


class TickReport(msgspec.Struct, frozen=True):
    """For how many shards a poller was started, and for how many none could be; whether a setting is refused."""

    started: int
    failed: int
    refused: bool = False


def tick(world: World) -> TickReport:
    """Start pollers for all registered shards. One that cannot be started does not stop the others."""
    # 1. Register what is missing, and see what each shard's last visit came to.
    partition_ids = all_shards(world)
    seen = {shard.partition_id: shard for shard in world.shards.all()}
    shards = [seen.get(partition_id, Shard(partition_id)) for partition_id in partition_ids]
    # 2. Start a poller for each that may be busy, and one for several of the others.
    started = failed = 0
    for poll in plan_polls(shards, world.clock.now(), world.settings.shards_together):
        if _start(world, poll):
            started += len(poll.partition_ids)
        else:
            failed += len(poll.partition_ids)
    reason = refused_setting(world)
    if reason is not None:
        log.error(reason, extra={"action": "setting_refused"})
    return TickReport(started, failed, reason is not None)


def _start(world: World, poll: Poll) -> bool:
    try:
        if len(poll.partition_ids) == 1:
            world.invoker.poll(poll.partition_ids[0])
        else:
            world.invoker.poll_together(poll.partition_ids)
    except Unavailable as error:
        log.warning(
            "poller not started: %s", error, extra={"action": "poller_not_started", "shards": poll.partition_ids}
        )
        return False
    return True
