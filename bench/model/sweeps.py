"""The pool of a visit and its sweep, step by step in virtual time: the loop of `clockwork.flows.poll.sending`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from bench.model.rows import TimelineRow
from bench.model.world import World
from clockwork.aws.queues.sender import MESSAGES_PER_BATCH
from clockwork.aws.session import THREADS
from clockwork.domain.messages.alignment import Aligned, Bin, grid_of_shard, plan_sweep
from clockwork.flows.poll.pool import MOST_POOLED, Waits
from clockwork.flows.poll.sending import AT_ONCE, SETTLE_MS

#: Sends so many messages that are due at an instant; their delay counts from the instant that is given last, or now.
SendRow = Callable[[int, int, int | None], None]
Later = Callable[[float, Callable[[], None]], None]


class Pool:
    """The read and unsent releases of a visit, and the way of their sends. `waits` is its invocation's."""

    def __init__(self, world: World, send: SendRow, later: Later, waits: Waits) -> None:
        settings = world.settings
        self._world, self._send, self._later, self._waits = world, send, later, waits
        self._grid = grid_of_shard(
            settings.send_margin_ms, settings.send_grid_ms, settings.shards, settings.tick_seconds
        )
        self.rows: list[TimelineRow] = []

    def takes(self, rows: Sequence[TimelineRow]) -> bool:
        """Whether these rows may wait in the pool, too: nothing is due soon."""
        soon = int(self._world.events.now) + 1_000
        return self._grid.is_on and not any(self._grid.is_near(row.due_at, soon) for row in rows)

    @property
    def is_full(self) -> bool:
        """Whether the pool has to be sent before more is read."""
        return jobs_of(self.rows) >= MOST_POOLED

    def sweep(self, then: Callable[[], None]) -> None:
        """Send the pool, in a sweep if that pays, and go on."""
        rows, now = self.rows, int(self._world.events.now)
        self.rows = []
        each = [number for number, row in enumerate(rows) for _ in range(row.kind.jobs)]
        jobs = plan_sweep([rows[number].due_at for number in each], now, self._grid)
        planned = [Bin(one.at, tuple(dict.fromkeys(each[index] for index in one.indexes))) for one in jobs.bins]
        self._waits.add(jobs.waiting)

        def go() -> None:
            if self._waits.pay:
                self._bins(rows, planned, then)
            else:
                self.send(rows, None, then)

        self._later(0 if self._waits.pay else SETTLE_MS, go)

    def send(self, rows: Sequence[TimelineRow], counted_from: int | None, then: Callable[[], None]) -> None:
        """Send rows at once, in as many threads as the adapter has, and go on."""
        count = jobs_of(rows)
        sends = -(-count // MESSAGES_PER_BATCH)
        limits, rng = self._world.limits, self._world.rng
        wait_ms = sum(limits.send.slowest_of(min(sends, THREADS), rng) for _ in range(-(-sends // THREADS)))
        self._world.tally.sends += sends
        for row in rows:
            self._send(row.due_at, row.kind.jobs, counted_from)
        work_ms = count * limits.poller_ms_per_job / limits.cores(self._world.deployment.poller_gb)
        self._later(max(wait_ms, work_ms), then)

    def _bins(self, rows: Sequence[TimelineRow], bins: list[Bin], then: Callable[[], None]) -> None:
        if not bins:
            then()
            return
        one = bins.pop(0)
        wait_ms = max(0.0, one.at - self._world.events.now)
        self._later(wait_ms, lambda: self._bin(rows, one.at, list(one.indexes), lambda: self._bins(rows, bins, then)))

    def _bin(self, rows: Sequence[TimelineRow], at: int, indexes: list[int], then: Callable[[], None]) -> None:
        """Send a bin in as many calls as it takes, each with a look at the clock."""
        some: list[TimelineRow] = []
        while indexes and (not some or jobs_of(some) + rows[indexes[0]].kind.jobs <= AT_ONCE):
            some.append(rows[indexes.pop(0)])
        counted_at = self._grid.counts_from(at, int(self._world.events.now))
        counted_from = Aligned(counted_at, self._grid.margin_ms).counted_from(counted_at)
        self.send(some, counted_from, then if not indexes else lambda: self._bin(rows, at, indexes, then))


def jobs_of(rows: Sequence[TimelineRow]) -> int:
    """The jobs of rows."""
    return sum(row.kind.jobs for row in rows)
