"""Dollars per million jobs with everything that AWS bills for them, by rate: units metered, times from the model.

Pure: it multiplies. A part of the sum is what one place of the deployment costs, so that whoever wants to spend less
sees where it goes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from bench.billing import prices
from bench.billing.scheduler import access_line
from bench.billing.usage import Usage
from bench.costs.loads import Way
from bench.costs.metered import Units
from bench.costs.shapes import Shape
from bench.idle import LAMBDA_LOG_BYTES, MONTH_MINUTES
from bench.model.limits import AWS
from clockwork.settings import DEFAULTS, USUAL_METRICS
from infra.memory import MEMORY_MB

_MILLION = 1_000_000
_GB = 10**9
_MONTH_SECONDS = MONTH_MINUTES * 60
_DAY_SECONDS = 86_400
_MONTH_DAYS = _MONTH_SECONDS / _DAY_SECONDS
#: Assumed: how long a job waits for its instant, and how long DynamoDB takes to delete what has expired ("a few days"):
#: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/TTL.html
WAITING_DAYS = 1
DELETION_DAYS = 2
#: The parts of a sum, and what each is.
PARTS = {
    "request": "API Gateway, its log, the api's invocation and time",
    "writes and reads": "DynamoDB's units, all of them",
    "release": "sends, and the pollers' time beyond an idle deployment's",
    "delivery": "receives, deletes, the deliverers' invocations and logs",
    "hold": "the deliverers' time: claims, waiting for the due instant, the target's answer",
    "egress": "the webhook's bytes that leave for the internet",
    "kept": "rows and records with their point-in-time recovery",
    "standing": "the idle deployment, metrics under load, provisioned pollers",
}


@dataclass(frozen=True, kw_only=True)
class Standing:
    """The monthly bill that is independent of load: an idle month, and the part of it that grows with the shards.

    `platform_lines`: whether Lambda writes lines of its own about each invocation.
    """

    dollars_per_month: float
    of_shards_per_month: float
    shards: int
    platform_lines: bool


@dataclass(frozen=True)
class ApiTime:
    """The CPU of the api Lambda per job on a whole core, ms, by whether jobs come one by one or in batches."""

    single_ms: float
    batch_ms: float

    def gb_seconds(self, way: Way, calls: float) -> float:
        """The GB-seconds of the api per job: its CPU at its share of a core, and its calls one after the other."""
        cpu_ms = (self.single_ms if way.jobs_per_request == 1 else self.batch_ms) / AWS.cores(MEMORY_MB / 1_024)
        return (cpu_ms + calls * AWS.write.mean) / 1_000 * MEMORY_MB / 1_024


def dollars_of(
    way: Way,
    per_second: float,
    units: Units,
    shape: Shape,
    api_time: ApiTime,
    standing: Standing,
    tariff: prices.Tariff = prices.ON_DEMAND,
) -> Mapping[str, float]:
    """Dollars per million jobs by PARTS."""
    every = (units.create, units.visit, units.deliver)
    stored_gb_months = (
        units.row_bytes * (WAITING_DAYS + DEFAULTS.row_retention_seconds / _DAY_SECONDS + DELETION_DAYS)
        + units.record_bytes * (DEFAULTS.execution_retention_seconds / _DAY_SECONDS + DELETION_DAYS)
    ) / _MONTH_DAYS
    return {
        "request": units.create.api_requests * prices.HTTP_API_REQUEST
        + _station(units.create, tariff, standing)
        + api_time.gb_seconds(way, units.api_calls) * prices.GB_SECOND * _MILLION,
        "writes and reads": sum(
            one.write_units * tariff.write_unit + one.read_units * tariff.read_unit for one in every
        ),
        "release": _station(units.visit, tariff, standing)
        + shape.polls * prices.LAMBDA_REQUEST
        + shape.poller_gb_seconds * prices.GB_SECOND * _MILLION,
        "delivery": _station(units.deliver, tariff, standing),
        "hold": shape.deliverer_gb_seconds * prices.GB_SECOND * _MILLION,
        "egress": units.sent_bytes / _GB * prices.EGRESS_GB * _MILLION,
        "kept": stored_gb_months / _GB * (prices.STORAGE_GB + prices.RECOVERY_GB) * _MILLION,
        "standing": _standing(per_second, shape, standing),
    }


def gateway_of(units: Units) -> float:
    """The part of `request` that API Gateway takes, dollars per million: a function URL has neither it nor its log."""
    log = len(access_line("POST", "/v1/jobs")) / _GB * prices.LOG_GB
    return units.create.api_requests * (prices.HTTP_API_REQUEST + log * _MILLION)


def _standing(per_second: float, shape: Shape, standing: Standing) -> float:
    metrics = len(USUAL_METRICS) * prices.METRIC_MONTH
    shards = standing.of_shards_per_month * (shape.shards / standing.shards - 1)
    pollers = shape.fixed_dollars_per_hour * MONTH_MINUTES / 60
    return (standing.dollars_per_month + metrics + shards + pollers) / (per_second * _MONTH_SECONDS) * _MILLION


def _station(used: Usage, tariff: prices.Tariff, standing: Standing) -> float:
    """A station's use besides the tables: messages, invocations, and logged lines."""
    lines = standing.platform_lines * used.lambda_invocations * LAMBDA_LOG_BYTES
    logged = (used.log_bytes + lines) / _GB * prices.LOG_GB * _MILLION
    return used.sqs_requests * tariff.sqs_request + used.lambda_invocations * prices.LAMBDA_REQUEST + logged
