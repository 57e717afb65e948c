"""Clients that create jobs: rows that the table refuses are put again with the adapter's own backoff."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from bench.model.buckets import TokenBucket
from bench.model.rows import TimelineRow, rows_of_request
from bench.model.storage import Partitions
from bench.model.timeline import ShardModel
from bench.model.world import World
from clockwork.aws.queues.sender import MESSAGES_PER_BATCH
from clockwork.aws.repeats import Backoff
from clockwork.aws.stores.timeline import BATCH_WRITE_ROUNDS, ROWS_PER_BATCH_WRITE
from clockwork.domain import keys
from clockwork.memory.clock import SeededRandom


class Creates:
    """Requests of several jobs each.

    `release` hands over the jobs of a row that lies at or before its shard's horizon when it is put. `wake` starts a
    poller for a shard.
    """

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
        self._gateway = TokenBucket(world.deployment.api_rate, world.limits.api_burst)
        self._random = SeededRandom(world.rng.randrange(2**32))

    def start(
        self,
        per_second: float,
        seconds: int,
        delay_ms: int,
        spread_ms: int,
        jobs_per_request: int,
        begins_at: float = 0.0,
    ) -> None:
        """Plan a steady rate of jobs, each due `delay_ms` after its request and up to `spread_ms` later."""
        step_ms = 1_000 * jobs_per_request / per_second
        for number in range(int(seconds * 1_000 / step_ms)):
            at = begins_at + (number + self._world.rng.random()) * step_ms
            self._world.events.at(at, partial(self._request, jobs_per_request, (int(at) + delay_ms, spread_ms)))

    def _request(self, jobs: int, due: tuple[int, int]) -> None:
        """Create the jobs of one request: all go to one random shard, and jobs of one minute share rows.

        Requests that the account's API refuses are sent again, under the same due instants.
        """
        world = self._world
        if not self._gateway.take_all(1, world.events.now):
            world.tally.throttled_requests += 1
            world.events.after(world.limits.api_repeat.draw(world.rng), partial(self._request, jobs, due))
            return
        shard = self._shards[self._random.below(len(self._shards))]
        self._world.tally.api_requests += 1
        kinds = rows_of_request(jobs)
        due_at, spread_ms = due
        rows = [TimelineRow(due_at + spread_ms * place // len(kinds), kind) for place, kind in enumerate(kinds)]
        pauses: list[float] = []
        backoff = Backoff(sleep=pauses.append, fraction=self._world.rng.random)
        self._round(shard, rows, backoff.rounds(BATCH_WRITE_ROUNDS), pauses)

    def _round(
        self, shard: ShardModel, rows: Sequence[TimelineRow], rounds: Iterator[int], pauses: list[float]
    ) -> None:
        """Do one round of BatchWriteItem. Rows that come back unprocessed go into the next, after the adapter's pause.

        After the last round the rest is counted as refused.
        """
        if next(rounds, None) is None:
            self._world.tally.refused += sum(row.kind.jobs for row in rows)
            return

        def put() -> None:
            unprocessed = [row for row in rows if not self._place(shard, row)]
            if unprocessed:
                self._round(shard, unprocessed, rounds, pauses)

        took = self._world.limits.write.slowest_of(-(-len(rows) // ROWS_PER_BATCH_WRITE), self._world.rng)
        self._world.events.after((pauses.pop() * 1000 if pauses else 0) + took, put)

    def _place(self, shard: ShardModel, row: TimelineRow) -> bool:
        """Put a row, then check the shard: a row at or before the horizon is released at once.

        Returns False if the table refuses the row.
        """
        now, units = self._world.events.now, row.kind.write_units
        if not self._partitions.take(shard.partition_id, units, now):
            return False
        self._world.tally.created += row.kind.jobs
        self._world.tally.write_units += units
        key = keys.row_key(row.due_at, "")
        if shard.horizon >= key:
            self._world.tally.sends += -(-row.kind.jobs // MESSAGES_PER_BATCH)
            # The look at the shard is a call of its own, and takes about as long as a write.
            looked = partial(self._release, shard.index, row.due_at, row.kind.jobs)
            self._world.events.after(self._world.limits.write.draw(self._world.rng), looked)
            return True
        shard.put(*row)
        if key <= keys.edge_key(int(now) + self._world.settings.poller_invoke_seconds * 1000):
            self._wake(shard)
        return True
