"""The scenarios of the model: the deployment, the load, and the faults of each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from bench.model.limits import AWS, Limits
from bench.model.rows import rows_of_request
from bench.model.run import Outcome, Stack, outcome_of
from bench.model.world import Deployment
from clockwork.settings import Settings

#: The first due instant of a herd, beyond every default lookahead.
HERD_AT = 300_000
#: How far ahead a steady load is created.
LEAD_MS = 300_000
#: How long a run goes on for late jobs.
STRAGGLERS_MS = 600_000
_ACCOUNT = Settings.for_account()
#: Jobs of each request that creates a herd: the most that the API takes.
JOBS_PER_REQUEST = 500
#: The default deployment.
DEFAULT = Deployment(concurrency=5_000)
HERD = Deployment(settings=_ACCOUNT.with_(shards=64, release_queues=14), pollers=100, concurrency=15_000)
RATE_23K = Deployment(
    settings=_ACCOUNT.with_(shards=256, release_queues=6), warm_writes=100_000, pollers=100, concurrency=7_000
)
RATE_10K = Deployment(
    settings=_ACCOUNT.with_(shards=128, release_queues=3), warm_writes=100_000, pollers=100, concurrency=4_000
)
RATE_100K = Deployment(
    settings=_ACCOUNT.with_(shards=1_000, release_queues=24), warm_writes=400_000, pollers=100, concurrency=25_000
)


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """One run."""

    name: str
    says: str
    deployment: Deployment
    run: Callable[[Deployment, Limits], Outcome]


def herd(
    deployment: Deployment,
    limits: Limits = AWS,
    jobs: int = 1_000_000,
    *,
    lost_poller: bool = False,
    missed_ticks: frozenset[int] = frozenset(),
) -> Outcome:
    """Run jobs that have long been on the timeline, all due on one millisecond."""
    stack = Stack(deployment, limits, lost_poller=lost_poller, missed_ticks=missed_ticks)
    tally = stack.world.tally
    tally.api_requests = jobs // JOBS_PER_REQUEST
    for number in range(tally.api_requests):
        for kind in rows_of_request(JOBS_PER_REQUEST):
            stack.shards[number % len(stack.shards)].put(HERD_AT, kind)
            tally.created += kind.jobs
            tally.write_units += kind.write_units
    stack.run(HERD_AT + STRAGGLERS_MS)
    return outcome_of(stack)


def steady(
    deployment: Deployment,
    per_second: int,
    seconds: int,
    limits: Limits = AWS,
    *,
    lost_poller: bool = False,
    missed_ticks: frozenset[int] = frozenset(),
    jobs_per_request: int = JOBS_PER_REQUEST,
) -> Outcome:
    """Run jobs that are created at a steady rate, each due five minutes and up to a second after its request."""
    stack = Stack(deployment, limits, lost_poller=lost_poller, missed_ticks=missed_ticks)
    stack.creates.start(per_second, seconds, LEAD_MS, 1_000, jobs_per_request)
    stack.run(LEAD_MS + seconds * 1_000 + STRAGGLERS_MS)
    return outcome_of(stack)


def _100k(deployment: Deployment, limits: Limits) -> Outcome:
    return steady(deployment, 100_000, 30, limits)


def _23k(deployment: Deployment, limits: Limits) -> Outcome:
    return steady(deployment, 23_000, 30, limits)


def _small(deployment: Deployment, limits: Limits, **faults: object) -> Outcome:
    return steady(deployment, 200, 180, limits, jobs_per_request=20, **faults)  # type: ignore[arg-type]


def _with(deployment: Deployment, **settings: object) -> Deployment:
    return replace(deployment, settings=deployment.settings.with_(**settings))


SCENARIOS = (
    Scenario(
        name="create_100k", says="100,000 creates/s for 30 s, each due 5 min later", deployment=RATE_100K, run=_100k
    ),
    Scenario(name="deliver_23k", says="23,000 deliveries/s for 30 s", deployment=RATE_23K, run=_23k),
    Scenario(name="herd_1m", says="1,000,000 jobs on one millisecond", deployment=HERD, run=herd),
    Scenario(
        name="herd_1m_default",
        says="the same with the default settings",
        deployment=DEFAULT,
        run=herd,
    ),
    Scenario(
        name="herd_1m_three_queues",
        says="the default settings, but for three release queues",
        deployment=_with(DEFAULT, release_queues=3),
        run=herd,
    ),
    Scenario(
        name="lost_poller",
        says="200 jobs/s; a poller dies between two commits",
        deployment=DEFAULT,
        run=lambda d, limits: _small(d, limits, lost_poller=True),
    ),
    Scenario(
        name="missed_tick",
        says="200 jobs/s; the ticks of minutes 2 and 3 are missing",
        deployment=DEFAULT,
        run=lambda d, limits: _small(d, limits, missed_ticks=frozenset({2, 3})),
    ),
    Scenario(
        name="rate_1",
        says="1 job/s for 10 min",
        deployment=DEFAULT,
        run=lambda d, limits: steady(d, 1, 600, limits, jobs_per_request=1),
    ),
    Scenario(
        name="rate_1k",
        says="1,000 jobs/s for 60 s",
        deployment=DEFAULT,
        run=lambda d, limits: steady(d, 1_000, 60, limits, jobs_per_request=50),
    ),
    Scenario(
        name="rate_1k_provisioned",
        says="the same with 20 provisioned pollers",
        deployment=replace(DEFAULT, pollers=20, concurrency=1_000),
        run=lambda d, limits: steady(d, 1_000, 60, limits, jobs_per_request=50),
    ),
    Scenario(
        name="rate_10k",
        says="10,000 jobs/s for 30 s",
        deployment=RATE_10K,
        run=lambda d, limits: steady(d, 10_000, 30, limits),
    ),
    Scenario(
        name="no_lookahead",
        says="200 jobs/s; pollers read no further than now",
        deployment=_with(DEFAULT, lookahead_seconds=0),
        run=_small,
    ),
    Scenario(
        name="shards_64",
        says="100,000 creates/s, one job a request, onto 64 shards",
        deployment=replace(_with(RATE_100K, shards=64), api_rate=100_000),
        run=lambda d, limits: steady(d, 100_000, 2, limits, jobs_per_request=1),
    ),
    Scenario(
        name="one_queue",
        says="23,000/s through one queue with Lambda's own scaling",
        deployment=_with(replace(RATE_23K, pollers=0), release_queues=1),
        run=_23k,
    ),
)
