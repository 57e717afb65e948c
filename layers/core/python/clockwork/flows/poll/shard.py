"""Poll a shard: take the lease and publish the horizon, then read, release and commit, page by page.

The lease gives the shard one owner at a time; its epoch is the fencing token. If the poller dies anywhere, the lease
runs out, and the next poller goes on from the cursor. Releases sent since the last commit are then sent a second time
at most, and the deliverer's claim absorbs the duplicates.
"""

from __future__ import annotations

import logging

import msgspec

from clockwork.domain import keys
from clockwork.domain.errors import Unreadable
from clockwork.domain.limits.herds import Herds
from clockwork.domain.messages.alignment import grid_of_shard
from clockwork.domain.timeline import Page
from clockwork.flows.outages import tolerated
from clockwork.flows.poll.expand import Silence
from clockwork.flows.poll.portions import most_in, portions
from clockwork.flows.poll.quarantine import look_again
from clockwork.flows.poll.release import WAYS, release_portion, send_portion
from clockwork.flows.poll.sending import Pool, Waits, send_aligned
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
    #: How far the cursor was behind now when the lease was taken (ms), and how far the horizon is ahead of now at the
    #: end (ms; None in an ordered shard, which is not read ahead).
    cursor_lag_ms: int = 0
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
        self.report = PollReport(cursor_lag_ms=_lag_ms(world, lease))
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
        """Wait until an instant (ms). What a visit waits is no part of its share: other visits work meanwhile."""
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


def poll_shard(world: World, partition_id: str, deadline_at: int, waits: Waits | None = None) -> PollReport:
    """Release everything in the shard that is due within the lookahead, as far as time allows.

    The poller commits and stops before `deadline_at` (ms). `waits`: it has this in common with other visits of its
    invocation, and `deadline_at` is the end of its share. It may wait beyond it.
    """
    # 1. Take the lease and publish the horizon in one step. From now on a create can see that this poller may have
    #    read past its row.
    visit = begin_visit(world, partition_id, deadline_at, world.settings.lookahead_seconds * 1000, waits)
    if visit is None:
        return PollReport(outcome="no_lease")
    # 2. Look again at what is in the quarantine. Then read, release and commit, page by page, up to the horizon.
    look_again(visit, WAYS)
    visit.report.outcome = drain(visit)
    visit.report.horizon_ahead_ms = keys.instant_of(visit.lease.horizon) - world.clock.now()
    return visit.report


def begin_visit(
    world: World, partition_id: str, deadline_at: int, lookahead_ms: int, waits: Waits | None = None
) -> Visit | None:
    """Take the lease and publish the horizon `lookahead_ms` ahead of now; None if another poller has the lease."""
    now = world.clock.now()
    horizon = keys.edge_key(now + lookahead_ms)
    lease = world.shards.acquire(partition_id, world.random.token(), now, now + lease_ms(world), horizon)
    return None if lease is None else Visit(world, lease, deadline_at, lookahead_ms, waits)


def drain(visit: Visit, *, release_lease: bool = True) -> str:
    """Release everything up to the horizon, page by page; returns why it ended, as in `PollReport.outcome`.

    `release_lease`: release the lease, too, once everything up to the horizon is released.
    """
    while True:
        until = visit.lease.horizon
        page = _read(visit, until)
        try:
            stopped = _release_rows(visit, page, until)
        except Exception:
            # Send what was read before, and commit how far the visit got, or the next poller does all of it again, and
            # fails where this one did; then fail, visibly.
            try:
                _send_pool(visit)
            finally:
                commit(visit, visit.lease.cursor, release_lease=True)
            raise
        if stopped == "goes_on":
            # A chain continues at or before the horizon: commit the cursor where it is, and read again from there.
            if not commit(visit, visit.lease.cursor):
                return "fenced"
        elif stopped is not None:
            # Commit as far as rows are done, and release the lease for the next poller.
            return stopped if stopped == "fenced" or commit(visit, visit.lease.cursor, release_lease=True) else "fenced"
        elif not page.more:
            return "dry" if commit(visit, until, release_lease=release_lease) else "fenced"
        elif visit.pool:
            visit.read_to = page.rows[-1].key
        elif not commit(visit, page.rows[-1].key):
            return "fenced"


def _read(visit: Visit, until: str) -> Page:
    """Read the next page. If that fails, what was read before is sent: the next visit may fail at the same page."""
    try:
        limit = visit.world.settings.commit_occurrences
        return visit.world.timeline.read(visit.lease.partition_id, visit.read_from, until, limit)
    except Exception:
        if visit.pool and _send_pool(visit) != "fenced":
            commit(visit, visit.lease.cursor, release_lease=True)
        raise


def _release_rows(visit: Visit, page: Page, until: str) -> str | None:
    """Release rows in order; returns None when all are released, or pooled if more follow; otherwise why not.

    `visit.lease.cursor` is moved as far as rows are done.
    """
    for some in portions(page.rows):
        stopped = _stops_before(visit, most_in(some)) or release_portion(visit, some, until)
        if stopped != "fenced" and (stopped is not None or not visit.pool.may_wait(visit.world.clock.now())):
            stopped = _send_pool(visit) or stopped
        elif visit.pool.is_full:
            stopped = _send_in_sweep(visit)
        if stopped is not None:
            return stopped
    return None if page.more or not visit.pool else _send_in_sweep(visit)


def _stops_before(visit: Visit, coming: int) -> str | None:
    """Why the visit must not go on with so many more occurrences; commits if a commit is due."""
    now = visit.world.clock.now()
    if now > visit.deadline_at - STOP_MARGIN_MS:
        return "out_of_time"
    if _commit_is_due(visit, now, coming) and not commit(visit, visit.lease.cursor):
        return "fenced"
    return None


def _send_pool(visit: Visit) -> str | None:
    """Send what was read, at once and portion by portion; returns None, or why not all of it.

    Whatever the time, the first portion is sent: a poller that reads slowly gets somewhere with each visit.
    """
    for index, done in enumerate(visit.pool.take()):
        stopped = _stops_before(visit, sum(len(one.releases) for one in done)) if index else None
        stopped = stopped or send_portion(visit, done)
        if stopped is not None:
            return stopped
    return None


def _send_in_sweep(visit: Visit) -> str | None:
    """Send all that was read in one sweep."""
    done = [one for portion in visit.pool.take() for one in portion]
    stopped = send_portion(visit, done, send_aligned)
    return "out_of_time" if stopped is not None and visit.time_left_ms <= 0 else stopped


def _commit_is_due(visit: Visit, now: int, coming: int) -> bool:
    most = visit.world.settings.commit_occurrences
    return (visit.uncommitted > 0 and visit.uncommitted + coming > most) or now >= visit.commits_by


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


def _lag_ms(world: World, lease: Lease) -> int:
    at = keys.instant_of(lease.cursor)
    return max(0, world.clock.now() - at) if at else 0
