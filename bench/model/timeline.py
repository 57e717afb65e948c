"""What the shards hold, and what polls them: the loop of `clockwork.flows.poll`, step by step in virtual time."""

from __future__ import annotations

import bisect
from collections.abc import Callable
from dataclasses import dataclass, field

from bench.model.world import World
from clockwork.aws.release_queue import MESSAGES_PER_BATCH
from clockwork.aws.session import THREADS
from clockwork.domain import keys
from clockwork.flows.poll import ROWS_AT_ONCE, STOP_MARGIN_MS

#: Hands messages due at an instant, so many, of a shard, to its release queue.
Send = Callable[[int, int, int], None]


@dataclass
class ShardModel:
    """One shard: its row, and the rows of its timeline as (due instant, how many), in order."""

    index: int
    cursor: str = keys.BEGINNING
    horizon: str = keys.BEGINNING
    lease_until: int = 0
    epoch: int = 0
    rows: list[list[int]] = field(default_factory=list)
    #: Released since the last commit: what a lost poller's successor sends again.
    uncommitted: list[tuple[int, int]] = field(default_factory=list)

    @property
    def partition_id(self) -> str:
        """Its name."""
        return keys.partition_of(self.index)

    def put(self, due_at: int, count: int) -> None:
        """Add rows."""
        bisect.insort(self.rows, [due_at, count])

    def page(self, horizon: str, limit: int) -> list[tuple[int, int]]:
        """Take the first rows at or before the horizon, at most `limit`."""
        taken: list[tuple[int, int]] = []
        number = 0
        while number < len(self.rows) and limit and keys.row_key(self.rows[number][0], "") <= horizon:
            due_at, count = self.rows[number]
            part = min(count, limit)
            taken.append((due_at, part))
            limit -= part
            self.rows[number][1] -= part
            number += part == count
        del self.rows[:number]
        return taken


class Visit:
    """One poller's stay at one shard."""

    def __init__(self, world: World, shard: ShardModel, send: Send, lost_after_groups: int | None = None) -> None:
        self._world = world
        self._settings = world.settings
        self._shard = shard
        self._send = send
        self._groups_left = lost_after_groups
        self._epoch = 0
        self._started_at = world.events.now

    def begin(self) -> None:
        """Take the lease and publish the horizon, or leave it to who has it."""
        now = int(self._world.events.now)
        if self._shard.lease_until >= now:
            return
        for due_at, count in self._shard.uncommitted:
            self._shard.put(due_at, count)
            self._world.tally.duplicates += count
        self._shard.uncommitted.clear()
        self._shard.epoch += 1
        self._epoch = self._shard.epoch
        self._publish(now)
        self._world.tally.visits += 1
        self._later(self._world.limits.write.draw(self._world.rng), self._read)

    def _publish(self, now: int) -> None:
        self._shard.lease_until = now + self._settings.lease_seconds * 1000
        horizon = keys.edge_key(now + self._settings.lookahead_seconds * 1000)
        self._shard.horizon = max(self._shard.horizon, horizon)

    def _read(self) -> None:
        page = self._shard.page(self._shard.horizon, self._settings.commit_occurrences)
        self._world.tally.pages += 1
        self._later(self._world.limits.query.draw(self._world.rng), lambda: self._release(page))

    def _release(self, page: list[tuple[int, int]]) -> None:
        """A group at a time, in as many threads as the adapter has."""
        group, rest = _split(page, ROWS_AT_ONCE)
        if not group:
            self._commit(more=bool(page))
            return
        if self._groups_left == 0:
            # The environment is gone and its lease runs out; what it had read and not sent is still on the timeline.
            for due_at, many in page:
                self._shard.put(due_at, many)
            return
        if self._groups_left is not None:
            self._groups_left -= 1
        count = sum(many for _, many in group)
        sends = -(-count // MESSAGES_PER_BATCH)
        waves = -(-sends // THREADS)
        limits, rng = self._world.limits, self._world.rng
        wait_ms = sum(limits.send.slowest_of(min(sends, THREADS), rng) for _ in range(waves))
        self._world.tally.sends += sends
        for due_at, many in group:
            self._send(self._shard.index, due_at, many)
        self._shard.uncommitted += group
        self._later(max(wait_ms, count * limits.poller_ms_per_job), lambda: self._next(rest))

    def _next(self, rest: list[tuple[int, int]]) -> None:
        if rest:
            self._release(rest)
        else:
            self._commit(more=True)

    def _commit(self, *, more: bool) -> None:
        """Move the cursor. Going on renews the lease and publishes the horizon anew."""
        now = int(self._world.events.now)
        self._world.tally.commits += 1
        self._shard.uncommitted.clear()
        out_of_time = now > self._started_at + self._settings.poller_timeout_seconds * 1000 - STOP_MARGIN_MS
        if not more or out_of_time:
            self._shard.cursor = self._shard.horizon
            self._shard.lease_until = 0
            self._world.tally.poller_ms += now - self._started_at
            return
        self._publish(now)
        self._later(self._world.limits.write.draw(self._world.rng), self._read)

    def _later(self, ms: float, step: Callable[[], None]) -> None:
        def act() -> None:
            if self._shard.epoch == self._epoch:
                step()

        self._world.events.after(ms, act)


def _split(page: list[tuple[int, int]], size: int) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """The first `size` jobs of a page, and the others."""
    first: list[tuple[int, int]] = []
    for number, (due_at, count) in enumerate(page):
        part = min(count, size)
        first.append((due_at, part))
        size -= part
        if part < count:
            return first, [(due_at, count - part), *page[number + 1 :]]
        if not size:
            return first, page[number + 1 :]
    return first, []
