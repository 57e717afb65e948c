"""Put off releases that the queue refuses for now beside others, so that a request is answered for all of its jobs.

Without an answer the request would be repeated, and the accepted releases would be sent again: at level `none` that is
a second delivery. Each refused release therefore gets a row of its own behind the horizon of its shard, and a poller
sends it.

How it fails. A poller may move its horizon beyond the row before the row is there, and never read it. The horizon is
therefore read after the put, and the row is put again behind it. If that does not help either, the request is not
promised, as without this step; a poller releases the rows that were put.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from clockwork.domain import keys
from clockwork.domain.errors import Unavailable
from clockwork.domain.releases import Release
from clockwork.domain.storage.rows import row_of
from clockwork.domain.timeline import Row, Shard
from clockwork.flows.outages import tolerated
from clockwork.flows.timeline.shards import check_shards
from clockwork.flows.world import World

log = logging.getLogger(__name__)

#: A row is put behind the horizon by so many ms for each second of a tick: by half a tick.
AHEAD_MS = 500
#: The number of times that a horizon may move beyond a row during its put.
MOST_TRIES = 3


def put_off(world: World, releases: Sequence[Release]) -> None:
    """Put a row for each release where a poller is sure to read it, and start that poller.

    Raises Unavailable if that is not certain for all of them.
    """
    waiting = list(releases)
    for _ in range(MOST_TRIES):
        partition_ids = sorted({release.shard for release in waiting})
        shards = check_shards(world, partition_ids)
        rows = [_row(world, shards[release.shard], release) for release in waiting]
        world.timeline.put_new(rows)
        shards = check_shards(world, partition_ids)
        waiting = [
            release for release, row in zip(waiting, rows, strict=True) if row.key <= shards[release.shard].horizon
        ]
        _wake(world, partition_ids)
        if not waiting:
            log.warning("%d releases are refused for now, and put off", len(releases), extra={"action": "put_off"})
            return
    raise Unavailable(f"{len(waiting)} releases were not taken, and could not be put off")


def _row(world: World, shard: Shard, release: Release) -> Row:
    at = max(keys.instant_of(shard.horizon), world.clock.now()) + world.settings.tick_seconds * AHEAD_MS
    key = keys.row_key(at, release.row_id("put off"))
    return row_of(shard.partition_id, key, [release], world.row_expires_at(at))


def _wake(world: World, partition_ids: Sequence[str]) -> None:
    for partition_id in partition_ids:
        # Without that poller the next tick starts one: late, not lost.
        with tolerated(world, log, "poller not started: %s", {"action": "poller_not_started", "shard": partition_id}):
            world.invoker.poll(partition_id)
