"""The poller of a shard: it works ahead in a plain shard, and keeps the order in an ordered one.

A poller has one shard, or several. It polls several at the same time, each under a lease of its own and as if it were
alone, but only for a share of the time. A quiet shard does not need more. A shard that is not done by then gets a
poller of its own.
"""

from __future__ import annotations

import logging

from clockwork.domain.keys import is_ordered
from clockwork.domain.storage import codec
from clockwork.flows.outages import tolerated
from clockwork.flows.poll.ordered_shard import poll_ordered_shard
from clockwork.flows.poll.pool import Waits
from clockwork.flows.poll.shard import poll_shard
from clockwork.flows.poll.visit import STOP_MARGIN_MS, PollReport
from clockwork.flows.world import World

log = logging.getLogger(__name__)

#: A poller of several shards works this long on each of them (ms): enough for thousands of occurrences.
SHARE_MS = 2_000
codec.expect_rows()


def poll_any(
    world: World, partition_id: str, deadline_at: int, *, succeeds: bool = False, waits: Waits | None = None
) -> PollReport:
    """Poll a plain or an ordered shard. `succeeds`: as the successor of a poller that is about to end."""
    if is_ordered(partition_id):
        return poll_ordered_shard(world, partition_id, deadline_at, succeeds=succeeds)
    return poll_shard(world, partition_id, deadline_at, waits)


def poll_among_others(world: World, partition_id: str, deadline_at: int, waits: Waits | None = None) -> PollReport:
    """Poll one of several shards of an invocation, for its share of the time, and what it waits besides.

    If the shard is not done by then, a poller of its own is started. If none can be, this one goes on. `waits` is what
    the visits of the invocation have in common.
    """
    waits = waits or Waits(deadline_at)
    share_ends_at = min(deadline_at, world.clock.now() + SHARE_MS + STOP_MARGIN_MS)
    report = poll_any(world, partition_id, share_ends_at, waits=waits)
    # The poller of an ordered shard starts its successor by itself.
    if report.outcome != "out_of_time" or is_ordered(partition_id):
        return report
    with tolerated(world, log, "not handed over: %s", {"action": "shard_not_handed_over", "shard": partition_id}):
        world.invoker.poll(partition_id, lookahead_seconds=world.settings.lookahead_seconds)
        return report
    # No other poller works on the shard: it gets the rest of this invocation.
    return poll_any(world, partition_id, deadline_at)
