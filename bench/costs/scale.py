"""The needs of a rate beside an account's defaults, and the cost of a day. Pure arithmetic.

    python -m bench.costs.scale

It writes the tables of docs/scale.md, from the curve that was kept last and the limits of the model.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench.billing import prices
from bench.costs.loads import JOBS_PER_BATCH
from bench.model.limits import AWS, BATCH
from bench.model.rows import rows_of_request
from bench.reporting.report import write_block
from bench.reporting.results import kept
from bench.reporting.tables import table
from infra import ROOT
from infra.memory import DELIVERER_MEMORY_MB

PAGE = ROOT / "docs/scale.md"
RATES = (1_000, 10_000, 23_148, 100_000, 1_000_000)
#: Jobs of a day, and the rate of which that is the mean.
DAY_JOBS = 2_000_000_000
#: The rate whose prices hold for the largest loads: batches are full.
_FULL = "10000"
#: The part of a partition's writes that a shard should take on the mean.
_SHARD_LOAD = 0.4
_API = "https://docs.aws.amazon.com/apigateway/latest/developerguide/limits.html"
_TABLE = "https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ServiceQuotas.html"
_LAMBDA = "https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html"
_SCALING = "https://docs.aws.amazon.com/lambda/latest/dg/scaling-behavior.html"
_SQS = "https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/quotas-queues.html"
_SOURCES = "https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-scaling.html"


@dataclass(frozen=True, kw_only=True)
class Need:
    """The need of a resource for each job a second, and the default amount in an account or a deployment."""

    name: str
    per_job: float
    default: int
    source: str
    says: str


def needs(result: Mapping[str, Any]) -> Sequence[Need]:
    """The needs of jobs that are recorded, those that an account runs out of first before the others."""
    busy_seconds = _busy_seconds(result)
    packed = sum(row.write_units for row in rows_of_request(JOBS_PER_BATCH)) / JOBS_PER_BATCH
    found = (
        Need(
            name="deliverers at once",
            per_job=busy_seconds / BATCH,
            default=1_000,
            source=_LAMBDA,
            says="a quota of the account",
        ),
        Need(
            name="batches of an event source without provisioned pollers",
            per_job=busy_seconds / BATCH,
            default=int(AWS.event_source.most),
            source=_SOURCES,
            says="`releaseQueues`, `queuePollers`",
        ),
        Need(
            name="writes of records", per_job=2, default=40_000, source=_TABLE, says="a quota of the table, or `none`"
        ),
        Need(name="requests, one job each", per_job=1, default=10_000, source=_API, says="a quota; batches"),
        Need(name="requests, 500 jobs each", per_job=1 / JOBS_PER_BATCH, default=10_000, source=_API, says="a quota"),
        Need(name="writes of rows, one job each", per_job=1, default=40_000, source=_TABLE, says="a quota; batches"),
        Need(name="writes of rows, in batches", per_job=packed, default=40_000, source=_TABLE, says="a quota"),
        Need(
            name="writes of a partition, one job each, on 16 shards",
            per_job=1 / 16 / _SHARD_LOAD,
            default=AWS.partition_writes,
            source=_TABLE,
            says="`shards`; never raised",
        ),
        Need(
            name="messages in flight of a queue",
            per_job=busy_seconds,
            default=AWS.in_flight,
            source=_SQS,
            says="`releaseQueues`",
        ),
        Need(
            name="invocations of deliverers a second",
            per_job=1 / BATCH,
            default=10_000,
            source=_SCALING,
            says="ten times the concurrency",
        ),
    )
    return sorted(found, key=lambda need: need.default / need.per_job)


def needs_table(result: Mapping[str, Any]) -> str:
    """How many jobs a second each default lasts for, and what larger rates need."""
    heads = ["what breaks, first things first", "by default", "lasts to jobs/s", *(f"at {rate:,}/s" for rate in RATES)]
    rows = [
        [
            f"[{need.name}]({need.source})",
            f"{need.default:,}",
            f"{need.default / need.per_job:,.0f}",
            *(f"{math.ceil(rate * need.per_job):,}" for rate in RATES),
            need.says,
        ]
        for need in needs(result)
    ]
    return table([*heads, ""], rows)


def day_table(result: Mapping[str, Any]) -> str:
    """Dollars a day of two billion jobs, at the prices of full batches."""
    rows = [
        [f"`{path}`", f"{by_rate[_FULL]:.2f}", f"{by_rate[_FULL] * DAY_JOBS / 1e6:,.0f}"]
        for path, by_rate in result["bySize"]["200"].items()
    ]
    return table(["two billion a day, 200 bytes each", "dollars per million", "dollars a day"], rows)


def _busy_seconds(result: Mapping[str, Any]) -> float:
    """How long a deliverer is busy with a full batch: the hold's price, by its memory and the price of time."""
    per_job: float = (
        result["parts"]["full_batch"][_FULL]["hold"] / 1e6 / prices.GB_SECOND / (DELIVERER_MEMORY_MB / 1_024)
    )
    return per_job * BATCH


def main() -> None:
    """The command line."""
    result = kept("curve")
    write_block("needs", needs_table(result), PAGE)
    write_block("day", day_table(result), PAGE)


if __name__ == "__main__":
    main()
