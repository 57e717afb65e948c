"""The shards' rows, and the pollers: the loop of `clockwork.flows.poll.shard`, step by step in virtual time."""

from __future__ import annotations

import bisect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

from bench.model.rows import RowKind, TimelineRow
from bench.model.sweeps import Pool, jobs_of
from bench.model.world import World
from clockwork.domain import keys
from clockwork.domain.requests.packing import MOST_IN_ROW
from clockwork.domain.timeline import Shard
from clockwork.flows.poll.pool import Waits
from clockwork.flows.poll.portions import OCCURRENCES_AT_ONCE, ROWS_AT_ONCE
from clockwork.flows.poll.visit import STOP_MARGIN_MS

#: The largest page of a query. https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Query.Pagination.html
PAGE_BYTES = 1_048_576
#: Sends messages to the release queue of a shard: the shard's index, the due instant, the number of messages, and from
#: when their delays count if not from now.
Send = Callable[[int, int, int, int | None], None]


@dataclass
class ShardModel:
    """One shard: its row in the table of shards, and the rows of its timeline in order."""

    index: int
    horizon: str = keys.BEGINNING
    lease_until: int = 0
    epoch: int = 0
    #: Occurrences that the last visit had released at its last commit. None: no visit has committed.
    released: int | None = None
    rows: list[TimelineRow] = field(default_factory=list)
    #: Rows released since the last commit: the successor of a lost poller sends them again.
    uncommitted: list[TimelineRow] = field(default_factory=list)

    @property
    def partition_id(self) -> str:
        """The shard's name."""
        return keys.partition_of(self.index)

    @property
    def row(self) -> Shard:
        """The shard's row in the table of shards, as ticks read it."""
        return Shard(self.partition_id, lease_until=self.lease_until, horizon=self.horizon, released=self.released)

    def put(self, due_at: int, kind: RowKind) -> None:
        """Add a row to the timeline."""
        bisect.insort(self.rows, TimelineRow(due_at, kind))

    def page(self, horizon: str, limit: int) -> list[TimelineRow]:
        """Take the first rows at or before the horizon, at most `limit`, cut by bytes as DynamoDB does."""
        number, room = 0, PAGE_BYTES
        for row in self.rows[:limit]:
            room -= row.kind.size
            if keys.row_key(row.due_at, "") > horizon or room < 0:
                break
            number += 1
        page = self.rows[:number]
        del self.rows[:number]
        return page


def portion_of(rows: Sequence[TimelineRow]) -> int:
    """How many of the rows are sent in one call, as in `clockwork.flows.poll.portions`."""
    room = OCCURRENCES_AT_ONCE
    for number, row in enumerate(rows[:ROWS_AT_ONCE]):
        room -= most_in(row)
        if room < 0:
            return number
    return min(len(rows), ROWS_AT_ONCE)


def most_in(row: TimelineRow) -> int:
    """How many occurrences a poller must expect in a row before it has decoded it."""
    return MOST_IN_ROW if row.kind.jobs > 1 else 1


class Invocation:
    """One poller. AWS bills it from its start until the last of its visits has ended."""

    def __init__(self, world: World, timeout_ms: float) -> None:
        self._world = world
        self._paid_until = world.events.now
        self.stops_at = world.events.now + timeout_ms - STOP_MARGIN_MS
        self.waits = Waits(int(self.stops_at))
        world.tally.polls += 1

    def pay(self) -> None:
        """Count the poller's time up to now, since a visit ends."""
        now = self._world.events.now
        self._world.tally.poller_ms += max(0.0, now - self._paid_until)
        self._paid_until = max(now, self._paid_until)


class Visit:
    """One poller's visit to one shard.

    `hand_over` starts another poller for a shard that is not done when time runs short. `lost_after_portions`: the
    poller dies after this many portions, before their commit.
    """

    def __init__(
        self,
        world: World,
        shard: ShardModel,
        send: Send,
        invocation: Invocation,
        hand_over: Callable[[ShardModel], None] | None = None,
        lost_after_portions: int | None = None,
    ) -> None:
        self._world = world
        self._settings = world.settings
        self._shard = shard
        self._invocation = invocation
        self._hand_over = hand_over
        self._portions_left = lost_after_portions
        self._epoch = 0
        self._released = 0
        self._committed_at = world.events.now
        self._pool = Pool(world, partial(send, shard.index), self._later, invocation.waits)

    def begin(self) -> None:
        """Take the lease and publish the horizon; nothing if another poller has the lease."""
        now = int(self._world.events.now)
        if self._shard.lease_until >= now:
            return
        for row in self._shard.uncommitted:
            self._shard.put(*row)
            self._world.tally.duplicates += row.kind.jobs
        self._shard.uncommitted.clear()
        self._shard.epoch += 1
        self._epoch = self._shard.epoch
        self._publish(now)
        self._world.tally.write_units += 1
        self._later(self._world.limits.write.draw(self._world.rng), self._read)

    def _publish(self, now: int) -> None:
        self._shard.lease_until = now + self._settings.lease_seconds * 1000
        horizon = keys.edge_key(now + self._settings.lookahead_seconds * 1000)
        self._shard.horizon = max(self._shard.horizon, horizon)

    def _read(self) -> None:
        page = self._shard.page(self._shard.horizon, self._settings.commit_occurrences)
        self._world.tally.read_units += max(1.0, sum(row.kind.read_units for row in page))
        self._later(self._world.limits.query.draw(self._world.rng), lambda: self._go_on(page, more=bool(page)))

    def _go_on(self, page: list[TimelineRow], *, more: bool) -> None:
        """Release the next portion of a page, after a commit if one is due."""
        if not page:
            if self._pool.rows and more:
                self._read()
            elif self._pool.rows:
                self._sent(self._pool.rows)
                self._pool.sweep(lambda: self._commit(lambda: None, release_lease=True))
            else:
                self._commit(lambda: self._read() if more else None, release_lease=not more)
            return
        size = portion_of(page)
        coming = sum(map(most_in, page[:size]))
        waiting = sum(row.kind.jobs for row in self._shard.uncommitted)
        late = self._world.events.now >= self._committed_at + self._settings.commit_seconds * 1000
        if late or (waiting and waiting + coming > self._settings.commit_occurrences):
            self._commit(lambda: self._release(page, size), left=page)
        else:
            self._release(page, size)

    def _release(self, page: list[TimelineRow], size: int) -> None:
        """Add a portion to the pool, or send it and the pool at once."""
        rest = page[size:]
        if self._pool.takes(page[:size]) and self._portions_left is None:
            self._pool.rows += page[:size]
            if self._pool.is_full:
                self._sent(self._pool.rows)
                self._pool.sweep(lambda: self._go_on(rest, more=True))
            else:
                self._go_on(rest, more=True)
            return
        rows, self._pool.rows = [*self._pool.rows, *page[:size]], []
        self._sent(rows)
        self._pool.send(rows, None, lambda: None if self._is_lost(rest) else self._go_on(rest, more=True))

    def _sent(self, rows: Sequence[TimelineRow]) -> None:
        self._shard.uncommitted += rows
        self._released += jobs_of(rows)

    def _is_lost(self, rest: Sequence[TimelineRow]) -> bool:
        """Whether the environment dies now, after a portion and before its commit.

        Then its lease runs out. Rows that it had read and not sent are still on the timeline.
        """
        if self._portions_left is not None:
            self._portions_left -= 1
        if self._portions_left != 0:
            return False
        for row in rest:
            self._shard.put(*row)
        return True

    def _commit(
        self, then: Callable[[], None], *, release_lease: bool = False, left: Sequence[TimelineRow] = ()
    ) -> None:
        """Move the cursor, then renew the lease and publish the horizon anew, or stop and release the lease.

        `left`: rows that were read and not released.
        """
        now = int(self._world.events.now)
        self._world.tally.write_units += 1
        self._shard.uncommitted.clear()
        self._shard.released = self._released
        self._committed_at = now
        if release_lease or now > self._invocation.stops_at:
            self._stop(left)
            if not release_lease and self._hand_over:
                self._hand_over(self._shard)
            return
        self._publish(now)
        self._later(self._world.limits.write.draw(self._world.rng), then)

    def _stop(self, left: Sequence[TimelineRow]) -> None:
        self._shard.lease_until = 0
        for row in [*left, *self._pool.rows]:
            self._shard.put(*row)
        self._invocation.pay()

    def _later(self, ms: float, step: Callable[[], None]) -> None:
        def act() -> None:
            if self._shard.epoch == self._epoch:
                step()

        self._world.events.after(ms, act)
