"""A visit: a poller's stay at one shard, from its lease to its last commit.

The lease gives the shard one owner at a time. Its epoch is the fencing token: a commit of a former owner is refused.
"""

from __future__ import annotations

import logging

import msgspec

from clockwork.domain import keys
from clockwork.domain.errors import Unreadable
from clockwork.domain.limits.herds import Herds
from clockwork.domain.messages.alignment import grid_of_shard
from clockwork.flows.outages import tolerated
from clockwork.flows.poll.expand import Silence
from clockwork.flows.poll.pool import Pool, Waits
from clockwork.flows.world import World
from clockwork.ports import Lease

log = logging.getLogger(__name__)

#: A poller starts no send with less than this left of its lease (ms): another poller might be at work already.
LEASE_MARGIN_MS = 5_000
#: A poller needs this long to commit and to stop before its invocation ends (ms).
STOP_MARGIN_MS = 5_000


class PollReport(msgspec.Struct):
    """Counts of one visit, and why it ended (`outcome`).

    `dry`: everything up to the horizon is released. `no_lease`: another poller has the lease. `fenced`: another poller
    has taken the lease meanwhile. `out_of_time`: the invocation is about to end. `stuck`: a row could not be passed.
    """

    outcome: str = "dry"
    released: int = 0
    dead: int = 0
    skipped: int = 0
    expired: int = 0
    #: Releases that the queue refused for now: each has a row of its own, which the next visit reads.
    set_aside: int = 0
    commits: int = 0
    #: How far the horizon is ahead of now at the end (ms; None in an ordered shard, which is not read ahead).
    horizon_ahead_ms: int | None = None
    #: How many rows the quarantine holds at the end, as far as the poller knows.
    quarantined: int = 0


class Visit:
    """One poller's stay at one shard: its lease as last written, and how many occurrences it released since then.

    The cursor in `lease` runs ahead of the written one: it is moved as rows are done, and written by the next commit.
    """

    def __init__(
        self, world: World, lease: Lease, deadline_at: int, lookahead_ms: int, waits: Waits | None = None
    ) -> None:
        self.world = world
        self.waits = waits or Waits(deadline_at)
        #: Whether other shards have visits in the same invocation.
        self.is_among_others = waits is not None
        #: When messages are sent. Those of an ordered shard are due when they are read.
        settings = world.settings
        grid_ms = 0 if keys.is_ordered(lease.partition_id) else settings.send_grid_ms
        self.grid = grid_of_shard(settings.send_margin_ms, grid_ms, settings.shards, settings.tick_seconds)
        self.pool = Pool(self.grid)
        self.lookahead_ms = lookahead_ms
        self.lease = lease
        self.deadline_at = deadline_at
        self.report = PollReport()
        self.committed_at = world.clock.now()
        self.uncommitted = 0
        #: How far rows were read into the pool: ahead of the cursor.
        self.read_to = keys.BEGINNING
        self.silence = Silence(keeps_order=self.keeps_order)
        self.herds = Herds(self._max_rate_of, world.random.fraction)

    @property
    def read_from(self) -> str:
        """The key behind which the next page begins."""
        return max(self.lease.cursor, self.read_to) if self.pool else self.lease.cursor

    @property
    def keeps_order(self) -> bool:
        """Whether the shard is an ordered one."""
        return keys.is_ordered(self.lease.partition_id)

    @property
    def has_time(self) -> bool:
        """Whether lease and invocation last for some more calls."""
        return self.world.clock.now() <= min(self.deadline_at - STOP_MARGIN_MS, self.lease.until - LEASE_MARGIN_MS)

    @property
    def time_left_ms(self) -> int:
        """How long (ms) lease and invocation last for calls, whatever the visit's share of the invocation is."""
        return min(self.waits.latest_at - STOP_MARGIN_MS, self.lease.until - LEASE_MARGIN_MS) - self.world.clock.now()

    def wait_until(self, at: int) -> None:
        """Wait until an instant (ms). The visit's share has no part of the wait: other visits work meanwhile."""
        began_at = self.world.clock.now()
        self.world.clock.hold_until(at)
        self.deadline_at = min(self.waits.latest_at, self.deadline_at + self.world.clock.now() - began_at)

    @property
    def commits_by(self) -> int:
        """When the next commit is due (ms), however little there is to commit."""
        settings = self.world.settings
        return min(self.committed_at + settings.commit_seconds * 1000, self.lease.until - LEASE_MARGIN_MS)

    def _max_rate_of(self, client_id: str) -> float | None:
        # A shard does not wait until its clients can be read: deliverers keep the caps all the same.
        with tolerated(self.world, log, "herd not spread: %s", {"action": "herd_not_spread"}, Unreadable):
            client = self.world.clients.get(client_id)
            return None if client is None else client.max_rate_per_second
        return None


def begin_visit(
    world: World, partition_id: str, deadline_at: int, lookahead_ms: int, waits: Waits | None = None
) -> Visit | None:
    """Take the lease and publish the horizon `lookahead_ms` ahead of now; None if another poller has the lease."""
    now = world.clock.now()
    horizon = keys.edge_key(now + lookahead_ms)
    lease = world.shards.acquire(partition_id, world.random.token(), now, now + lease_ms(world), horizon)
    return None if lease is None else Visit(world, lease, deadline_at, lookahead_ms, waits)


def commit(visit: Visit, cursor: str, *, release_lease: bool = False) -> bool:
    """Write the cursor; False if the poller is fenced, which means that another one has taken the lease.

    Unless `release_lease`, the same write renews the lease and publishes the horizon anew, again before the next read.
    """
    now = visit.world.clock.now()
    ahead = max(visit.lease.horizon, keys.edge_key(now + visit.lookahead_ms))
    lease = msgspec.structs.replace(
        visit.lease,
        cursor=cursor,
        until=0 if release_lease else now + lease_ms(visit.world),
        released=visit.report.released,
        horizon=visit.lease.horizon if release_lease else ahead,
    )
    if not visit.world.shards.commit(lease):
        log.warning("fenced", extra={"action": "fenced", "shard": lease.partition_id, "epoch": lease.epoch})
        return False
    visit.lease, visit.committed_at, visit.uncommitted = lease, now, 0
    visit.report.quarantined = lease.quarantined
    visit.report.commits += 1
    return True


def lease_ms(world: World) -> int:
    """How long a lease lasts from each commit on (ms)."""
    return world.settings.lease_seconds * 1000
