"""Which poller a shard has: one that works ahead, or one that keeps the order."""

from __future__ import annotations

from clockwork.domain.keys import is_ordered
from clockwork.flows.poll import PollReport, poll_shard
from clockwork.flows.poll_ordered import poll_ordered_shard
from clockwork.flows.world import World


def poll_any(world: World, partition_id: str, deadline_at: int, *, succeeds: bool = False) -> PollReport:
    """Poll a shard in the way of its kind. `succeeds`: as the successor of a poller that is about to end."""
    if is_ordered(partition_id):
        return poll_ordered_shard(world, partition_id, deadline_at, succeeds=succeeds)
    return poll_shard(world, partition_id, deadline_at)
