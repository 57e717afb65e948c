"""A minute passes: start a poller for each shard."""

from __future__ import annotations

import logging

import msgspec

from clockwork.domain.errors import Unavailable
from clockwork.flows.registry import all_shards, refused_setting
from clockwork.flows.world import World

log = logging.getLogger(__name__)


class TickReport(msgspec.Struct, frozen=True):
    """How many pollers were started, and how many could not be; whether a setting is refused."""

    started: int
    failed: int
    refused: bool = False


def tick(world: World) -> TickReport:
    """Start a poller for every registered shard. One that cannot be started does not stop the others."""
    started = failed = 0
    for partition_id in all_shards(world):
        try:
            world.invoker.poll(partition_id)
            started += 1
        except Unavailable as error:
            failed += 1
            log.warning("poller not started: %s", error, extra={"action": "poller_not_started", "shard": partition_id})
    reason = refused_setting(world)
    if reason is not None:
        log.error(reason, extra={"action": "setting_refused"})
    return TickReport(started, failed, reason is not None)
