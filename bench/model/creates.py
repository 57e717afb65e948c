"""Clients that create jobs: what the table does not take is repeated as the adapter repeats it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from bench.model.storage import Partitions
from bench.model.timeline import ShardModel
from bench.model.world import World
from clockwork.aws.release_queue import MESSAGES_PER_BATCH
from clockwork.aws.repeats import Backoff
from clockwork.aws.timeline import BATCH_WRITE_ROUNDS, ROWS_PER_BATCH_WRITE
from clockwork.domain import keys
from clockwork.memory.clock import SeededChance


#: Into how many due instants the jobs of a request are put together.
SPREAD_STEPS = 10


class Creates:
    """Requests of several jobs each. `release` hands over what lies behind a shard's horizon when it is put."""

    def __init__(
        self,
        world: World,
        shards: Sequence[ShardModel],
        partitions: Partitions,
        release: Callable[[int, int, int], None],
        wake: Callable[[ShardModel], None],
    ) -> None:
        self._world = world
        self._shards = shards
        self._partitions = partitions
        self._release = release
        self._wake = wake
        self._chance = SeededChance(world.rng.randrange(2**32))

    def start(self, per_second: int, seconds: int, delay_ms: int, spread_ms: int, jobs_per_request: int) -> None:
        """A steady rate of jobs, each due `delay_ms` after its request and up to `spread_ms` later."""
        step_ms = 1_000 * jobs_per_request / per_second
        for number in range(int(seconds * 1_000 / step_ms)):
            at = (number + self._world.rng.random()) * step_ms
            self._world.events.at(at, partial(self._request, jobs_per_request, (int(at) + delay_ms, spread_ms)))

    def _request(self, jobs: int, due: tuple[int, int]) -> None:
        """All jobs of a request draw one shard."""
        shard = self._shards[self._chance.below(len(self._shards))]
        self._world.tally.api_requests += 1
        pauses: list[float] = []
        backoff = Backoff(sleep=pauses.append, fraction=self._world.rng.random)
        self._round(shard, jobs, due, backoff.rounds(BATCH_WRITE_ROUNDS), pauses)

    def _round(
        self, shard: ShardModel, rows: int, due: tuple[int, int], rounds: Iterator[int], pauses: list[float]
    ) -> None:
        """One round of BatchWriteItem; what comes back unprocessed is for the next, after the adapter's own pause."""
        if next(rounds, None) is None:
            self._world.tally.refused += rows
            return

        def put() -> None:
            granted = self._partitions.take(shard.partition_id, rows, self._world.events.now)
            self._place(shard, granted, *due)
            if granted < rows:
                self._round(shard, rows - granted, due, rounds, pauses)

        took = self._world.limits.write.slowest_of(-(-rows // ROWS_PER_BATCH_WRITE), self._world.rng)
        self._world.events.after((pauses.pop() * 1000 if pauses else 0) + took, put)

    def _place(self, shard: ShardModel, rows: int, due_at: int, spread_ms: int) -> None:
        """Put, then look: what is at or before the horizon is released at once."""
        self._world.tally.created += rows
        soon = keys.edge_key(int(self._world.events.now) + self._world.settings.poller_invoke_seconds * 1000)
        steps = min(rows, SPREAD_STEPS) if spread_ms else 1
        for number in range(steps):
            count = rows // steps + (number < rows % steps)
            at = due_at + spread_ms * number // steps
            key = keys.row_key(at, "")
            if not count:
                continue
            if shard.horizon >= key:
                self._world.tally.sends += -(-count // MESSAGES_PER_BATCH)
                self._release(shard.index, at, count)
                continue
            shard.put(at, count)
            if key <= soon:
                self._wake(shard)
