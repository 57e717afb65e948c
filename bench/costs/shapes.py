"""The model's figures for jobs at a rate: the batches of deliverers, and the time of deliverers and pollers.

Clockwork's own code decides in the model (delays, pages, portions, the sharing of pollers), and a Lambda's memory comes
from `infra/memory.py`. A change of either changes the curve.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache

from bench.billing import prices
from bench.costs.loads import JOBS_PER_BATCH, RATES, Way, deployment_for
from bench.model.limits import AWS, Limits
from bench.model.run import Stack
from bench.model.scenarios import LEAD_MS
from bench.model.world import Deployment, Tally

#: Seconds of load by rate: enough jobs for a mean, and some minutes wherever that takes no minute to reckon.
SECONDS: Mapping[str, int] = {"0.1": 7_200, "1": 1_200, "10": 300, "100": 60, "1000": 20, "10000": 4}
#: Requests of a batch that a run has at least: each goes to one shard, and so to one visit.
LEAST_REQUESTS = 20
#: Batches at work at once for each job a second, and more: a batch of one occupies a deliverer for half a second.
BATCHES_AT_ONCE = 1
#: Time after the last due instant (ms): what comes late is delivered by then.
STRAGGLERS_MS = 120_000
#: The dues of one request lie within this time (ms).
SPREAD_MS = 1_000


@dataclass(frozen=True, kw_only=True)
class Shape:
    """Means of a run. `gb_seconds` and `polls` are per job; those of pollers are beyond an idle deployment's.

    `visit`: jobs that a visit finds, if it finds any. `fixed_dollars_per_hour`: provisioned pollers.
    """

    shards: int
    batch: float
    visit: int
    deliverer_gb_seconds: float
    poller_gb_seconds: float
    polls: float
    fixed_dollars_per_hour: float


def shape_of(way: Way, rate: str) -> Shape:
    """The shape of jobs that are created in this way at this rate."""
    warm = round(BATCHES_AT_ONCE * RATES[rate])
    deployment = replace(deployment_for(RATES[rate]), record=way.record, warm_environments=warm)
    seconds = SECONDS[rate]
    if way.jobs_per_request > 1:
        seconds = max(seconds, round(LEAST_REQUESTS * JOBS_PER_BATCH / RATES[rate]))
    stack = Stack(deployment, _grown_to(RATES[rate]))
    stack.creates.start(RATES[rate], seconds, LEAD_MS, SPREAD_MS, way.jobs_per_request)
    until_ms = LEAD_MS + seconds * 1_000 + STRAGGLERS_MS
    tally, idle = stack.run(until_ms), _idle(deployment, until_ms)
    jobs, settings = tally.delivered, deployment.settings
    per_visit = RATES[rate] * settings.tick_seconds / settings.shards
    return Shape(
        shards=settings.shards,
        batch=jobs / tally.invocations,
        visit=max(way.jobs_per_request, round(per_visit)),
        deliverer_gb_seconds=tally.deliverer_ms * deployment.deliverer_gb / 1_000 / jobs,
        poller_gb_seconds=max(0.0, tally.poller_ms - idle.poller_ms) * deployment.poller_gb / 1_000 / jobs,
        polls=max(0, tally.polls - idle.polls) / jobs,
        fixed_dollars_per_hour=settings.release_queues * deployment.pollers * prices.POLLER_HOUR,
    )


def _grown_to(per_second: float) -> Limits:
    """AWS's limits where an event source has long grown to a rate: no load is new to it, and none of it is backlog."""
    ramp = AWS.event_source
    return replace(AWS, event_source=replace(ramp, start=max(ramp.start, BATCHES_AT_ONCE * per_second)))


@cache
def _idle(deployment: Deployment, until_ms: int) -> Tally:
    """The counts of the same deployment in the same time, without a job."""
    return Stack(deployment).run(until_ms)
