"""Scenes in virtual time: five ordinary clients, and beside them one that floods or whose work is poison.

The flows are the shipped ones on the adapters in memory, with as many deliverers as an account is made for.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from bench.arrivals.percentiles import percentile
from bench.arrivals.shared import Began, SharedDeliverers
from bench.arrivals.virtual import TARGET_MS
from bench.isolating.poisons import GARBAGE_MESSAGE, ODD, URL, Poison, garbage_rows
from clockwork.aws.repeats import batches
from clockwork.domain.clients import Client
from clockwork.domain.ids import only_execution
from clockwork.domain.limits.concurrency import LEFT_FREE
from clockwork.domain.releases import Delivery
from clockwork.domain.requests.create import CreateRequest, NewJob
from clockwork.flows.requests.create import create_jobs
from clockwork.flows.timeline.shards import ensure_shards
from clockwork.flows.world import World
from clockwork.settings import Settings
from clockwork.targets.http import HttpTarget
from clockwork.targets.message import Payload

OTHERS = tuple(f"other-{number}" for number in range(5))
FLOODING = "flooding"
#: How far ahead the flood is created: too far for a create to start a poller, but within a poller's lookahead.
LEAD_MS = 180_000
LARGEST_REQUEST = 500
#: Jobs of the others in a second, and from when to when they are due, seen from the instant of the flood (ms).
OTHERS_PER_SECOND = 20
OTHERS_DUE_MS = (-110_000, 25_000)
#: The others' jobs that are due in this time, seen from the flood (ms), are measured.
MEASURED_MS = (-2_000, 20_000)
#: Among poison jobs are due within so many seconds: so many of each client, and of the odd one, in each second. Half of
#: them are due on the second itself, where they fill batches.
POISON_SECONDS, EACH, ODD_EACH = 10, 20, 10
SLOW_MS = 2_000
#: A client that crowds alone may take this share of the deliverers, each with ten messages.
SHARE, IN_A_BATCH = 1 - LEFT_FREE, 10


@dataclass(frozen=True)
class Seen:
    """Figures of some jobs: their latenesses (ms), and the numbers of lost and duplicated ones."""

    lateness_ms: Sequence[int]
    lost: int = 0
    duplicates: int = 0

    @property
    def p99_ms(self) -> int:
        """The 99th percentile of lateness, ms."""
        return int(percentile(sorted(self.lateness_ms), 0.99))

    def and_(self, other: Seen) -> Seen:
        """Both together."""
        late = [*self.lateness_ms, *other.lateness_ms]
        return Seen(late, self.lost + other.lost, self.duplicates + other.duplicates)


@dataclass(frozen=True)
class Flooded:
    """Figures of the others beside a flood, and of the flood.

    `used`: the used share of the capacity that the flood may use.
    """

    others: Seen
    flood: Seen
    used: float


def jobs_of(client_id: str, dues: Sequence[int], url: str = URL) -> Iterator[CreateRequest]:
    """Requests to create recorded jobs of a client, due at these instants (ms)."""
    for some in batches(dues, LARGEST_REQUEST):
        jobs = (NewJob(index=n, target=HttpTarget(url), payload=Payload(b"{}"), at=at) for n, at in enumerate(some))
        yield CreateRequest(client=Client(client_id=client_id), jobs=tuple(jobs))


def create_all(world: World, requests: Iterator[CreateRequest]) -> list[str]:
    """Create the jobs; returns the ids of their executions."""
    partitions = ensure_shards(world)
    created = []
    for request in requests:
        world.clients.put(request.client)
        created += [only_execution(job.job_id, job.due_at) for job in create_jobs(world, request, partitions)]
    return created


def flood(count: int, answer_ms: tuple[int, int], seed: int, settings: Settings | None = None) -> Flooded:
    """`count` jobs of one client on one instant, whose target takes `answer_ms` to answer, beside the others."""
    settings = settings or Settings.for_account()
    virtual = SharedDeliverers(settings, seed, lambda one: answer_ms if _is_of(one, FLOODING) else TARGET_MS)
    rng, at = random.Random(seed), virtual.now + LEAD_MS
    wanted = (OTHERS_DUE_MS[1] - OTHERS_DUE_MS[0]) * OTHERS_PER_SECOND // 1_000 // len(OTHERS)
    for client_id in OTHERS:
        create_all(virtual.world, jobs_of(client_id, [at + rng.randrange(*OTHERS_DUE_MS) for _ in range(wanted)]))
    create_all(virtual.world, jobs_of(FLOODING, [at] * count))
    virtual.run(ticks=5)
    flooding = [one for one in virtual.begun if _is_of(one.delivery, FLOODING)]
    others = [one for one in virtual.begun if not _is_of(one.delivery, FLOODING)]
    # Those that are due outside of the measured time are counted as lost or not all the same.
    seen = _seen(others, wanted * len(OTHERS))
    measured = [one for one in others if MEASURED_MS[0] <= one.delivery.occurrence.due_at - at < MEASURED_MS[1]]
    deliverers = max(1, int(settings.deliverer_concurrency * SHARE))
    used = capacity_used(flooding, at, answer_ms[1], deliverers) if count else 0.0
    return Flooded(replace(seen, lateness_ms=_lateness(measured)), _seen(flooding, count), used)


def capacity_used(begun: Sequence[Began], since: int, takes_ms: int, deliverers: int) -> float:
    """The mean share of `deliverers` that were at work on deliveries of `takes_ms` each, while more than enough waited.

    From `since` (ms) until fewer messages wait than so many deliverers take at once.
    """
    starts = sorted(one.at for one in begun)
    until = starts[-min(len(starts), deliverers * IN_A_BATCH)]
    at_work: Counter[int] = Counter()
    busy_until: dict[int, int] = {}
    for one in sorted(begun, key=lambda one: one.at):
        from_ = max(one.at, busy_until.get(one.deliverer, since))
        at_work[one.deliverer] += max(0, min(one.at + takes_ms, until) - from_)
        busy_until[one.deliverer] = max(from_, one.at + takes_ms)
    return sum(at_work.values()) / (deliverers * (until - since)) if until > since else 1.0


def among_poison(poison: Poison | None, seed: int, each: int = EACH) -> Seen:
    """Figures of the others while the odd client's work is poison; None: without the odd client.

    Each of the others has `each` jobs a second.

    All jobs lie in one shard, so that those of all clients which are due together share sends and batches.
    """
    virtual = SharedDeliverers(Settings.for_account().with_(shards=1), seed)
    at = virtual.now + LEAD_MS
    rng, seconds = random.Random(seed), [at + second * 1_000 for second in range(POISON_SECONDS)]

    def dues(each: int) -> list[int]:
        return [second + rng.randrange(1_000) * (place % 2) for second in seconds for place in range(each)]

    for client_id in OTHERS:
        create_all(virtual.world, jobs_of(client_id, dues(each)))
    if poison is None:
        virtual.run(ticks=5)
    else:
        create_all(virtual.world, jobs_of(ODD, dues(ODD_EACH), poison.url))
        virtual.answering = poison.targets
        for due_at in seconds:
            for partition_id in ensure_shards(virtual.world):
                virtual.world.timeline.put(poison.rows(partition_id, due_at, 1))
        if poison.garbage:
            for due_at in seconds:
                for partition_id in ensure_shards(virtual.world):
                    virtual.world.timeline.put(garbage_rows(partition_id, due_at, 1))
                for _ in range(ODD_EACH):
                    virtual.show(GARBAGE_MESSAGE, due_at)
        with poison.acting(virtual.world):
            virtual.run(ticks=5)
    others = [one for one in virtual.begun if one.delivery.occurrence.client_id in OTHERS]
    return _seen(others, len(OTHERS) * len(seconds) * each)


def _is_of(delivery: Delivery, client_id: str) -> bool:
    return delivery.occurrence.client_id == client_id


def _seen(begun: Sequence[Began], made: int) -> Seen:
    executions = {one.delivery.execution_id for one in begun}
    return Seen(_lateness(begun), made - len(executions), len(begun) - len(executions))


def _lateness(begun: Sequence[Began]) -> list[int]:
    return [one.at - one.delivery.occurrence.due_at for one in begun]
