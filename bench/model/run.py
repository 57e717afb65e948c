"""Puts the parts of the model together: one run of a deployment, and its result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bench.billing import prices
from bench.model.creates import Creates
from bench.model.deliveries import Account, QueueModel
from bench.model.limits import AWS, Limits
from bench.model.storage import Partitions
from bench.model.timeline import Invocation, ShardModel, Visit
from bench.model.world import Deployment, Tally, World
from clockwork.domain import keys
from clockwork.domain.limits.polling import plan_polls
from clockwork.domain.releases import queue_of
from clockwork.flows.poll.poller import SHARE_MS
from clockwork.flows.poll.visit import STOP_MARGIN_MS


class Stack:
    """A deployment in the model, without a job at first.

    A tick comes at a random instant of its minute, as from an EventBridge rule, unless `jittered_ticks` is false.
    """

    def __init__(
        self,
        deployment: Deployment,
        limits: Limits = AWS,
        *,
        seed: int = 0,
        jittered_ticks: bool = True,
        missed_ticks: frozenset[int] = frozenset(),
        lost_poller: bool = False,
    ) -> None:
        self.world = World(deployment, limits, seed)
        self.shards = [ShardModel(index) for index in range(deployment.settings.shards)]
        names = [shard.partition_id for shard in self.shards]
        self.partitions = Partitions(names, deployment.warm_writes, limits, self.world.rng)
        self.account = Account(deployment.concurrency)
        self._queues = [QueueModel(self.world, self.account) for _ in range(deployment.settings.release_queues)]
        self.creates = Creates(self.world, self.shards, self.partitions, self._release, self._start)
        self._missed_ticks = missed_ticks
        self._lost_poller = lost_poller
        self._jittered_ticks = jittered_ticks
        self._plan_tick(0)

    def run(self, until_ms: int) -> Tally:
        """Let time pass until `until_ms`, and return the counts."""
        self.world.events.run(until_ms)
        return self.world.tally

    def _tick(self, number: int) -> None:
        if number not in self._missed_ticks:
            now, most = int(self.world.events.now), self.world.settings.shards_together
            for poll in plan_polls([shard.row for shard in self.shards], now, most):
                self._poll([self.shards[keys.index_of(partition_id)] for partition_id in poll.partition_ids])
        self._plan_tick(number + 1)

    def _plan_tick(self, number: int) -> None:
        within = self.world.rng.random() if self._jittered_ticks else 0.5
        self.world.events.at((number + within) * self.world.settings.tick_seconds * 1000, lambda: self._tick(number))

    def _start(self, shard: ShardModel) -> None:
        """Invoke a poller for one shard."""
        self._poll([shard])

    def _poll(self, shards: Sequence[ShardModel]) -> None:
        """Invoke a poller for these shards. With `lost_poller`, the first visit that finds work dies in the middle."""

        def begin() -> None:
            timeout_ms = self.world.settings.poller_timeout_seconds * 1000
            invocation = Invocation(self.world, timeout_ms if len(shards) == 1 else SHARE_MS + STOP_MARGIN_MS)
            for shard in shards:
                lost = 1 if self._lost_poller and shard.rows and shard.rows[0].due_at <= self._reach() else None
                self._lost_poller = self._lost_poller and lost is None
                hand_over = None if len(shards) == 1 else self._start
                Visit(self.world, shard, self._release, invocation, hand_over, lost).begin()

        self.world.events.after(self.world.limits.invoke.draw(self.world.rng), begin)

    def _reach(self) -> float:
        return self.world.events.now + self.world.settings.lookahead_seconds * 1000

    def _release(self, shard: int, run_at: int, count: int, counted_from: int | None = None) -> None:
        self._queues[queue_of(keys.partition_of(shard), len(self._queues))].send(run_at, count, counted_from)


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The figures of a run."""

    jobs: int
    delivered: int
    p50_ms: float
    p99_ms: float
    #: The p99 of jobs whose environment was warm.
    warm_p99_ms: float
    max_ms: float
    throttles: int
    refused: int
    drain_seconds: float
    dollars_per_million: float
    #: The most environments of deliverers that were busy at once.
    environments: int
    #: The price of provisioned pollers.
    fixed_dollars_per_hour: float

    def as_json(self) -> dict[str, Any]:
        """The figures that a reader compares."""
        return {
            "p50Ms": self.p50_ms,
            "p99Ms": self.p99_ms,
            "warmP99Ms": self.warm_p99_ms,
            "maxMs": self.max_ms,
            "throttles": self.throttles,
            "refused": self.refused,
            "deliverersAtOnce": self.environments,
            "pollersDollarsPerHour": self.fixed_dollars_per_hour,
            "drainSeconds": self.drain_seconds,
            "dollarsPerMillion": self.dollars_per_million,
        }


def outcome_of(stack: Stack) -> Outcome:
    """The result of a run. `drain_seconds` count from the first due instant to the start of the last delivery."""
    tally, deployment, settings = stack.world.tally, stack.world.deployment, stack.world.settings
    late = tally.lateness
    return Outcome(
        jobs=tally.created,
        delivered=tally.delivered,
        p50_ms=round(late.percentile(0.5), 1),
        p99_ms=round(late.percentile(0.99), 1),
        warm_p99_ms=round(tally.warm_lateness.percentile(0.99), 1),
        max_ms=round(late.max, 1),
        throttles=stack.partitions.throttles + tally.throttled_invocations + tally.throttled_requests,
        refused=tally.refused,
        drain_seconds=round((tally.last_delivered_at - tally.first_due_at) / 1000, 1),
        dollars_per_million=round(dollars(tally, deployment) / max(1, tally.delivered) * 1_000_000, 3),
        environments=stack.account.most_busy,
        fixed_dollars_per_hour=round(settings.release_queues * deployment.pollers * prices.POLLER_HOUR, 2),
    )


def dollars(tally: Tally, deployment: Deployment) -> float:
    """The run's bill: writes, reads, requests and Lambda's duration; without the API, storage and logs."""
    # With `full` records, each job has a claim and an outcome. Each request reads its shard once.
    writes = tally.write_units + (2 * tally.delivered if deployment.record == "full" else 0)
    reads = tally.read_units + tally.api_requests
    sqs = tally.sends + 2 * tally.receives
    requests = tally.invocations + tally.polls + tally.api_requests
    seconds = (tally.deliverer_ms * deployment.deliverer_gb + tally.poller_ms * deployment.poller_gb) / 1000
    return (
        writes * prices.WRITE_UNIT
        + reads * prices.READ_UNIT
        + sqs * prices.SQS_REQUEST
        + requests * prices.LAMBDA_REQUEST
    ) / 1_000_000 + seconds * prices.GB_SECOND
