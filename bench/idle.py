"""The cost of an idle month: AWS's bill, item by item, for a deployment without a job and without a request.

The units are metered: an hour of ticks, polls and sweeps by the handlers that are deployed, at the real adapters and
against the emulator, without a job. A Lambda's time is reckoned from its calls, at 10 ms each unless they are made at
once. Its logs are the lines that it writes, and those that Lambda writes about it if the template lets it. Clockwork's
own metrics are those that the lines have. Alarms, event sources and tables under a key of KMS are counted in the
template of an account with default options. The rest is prices (`bench/billing/prices.py`).

    python -m bench.idle [--json] [--docs]

The last line of standard output is one JSON object, dollars a month; the table goes to standard error, with --docs also
into docs/performance.md. Half a minute.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bench.billing import prices
from bench.billing.deployed import Deployed, deployed
from bench.billing.scheduler import Scheduler, scheduler
from bench.billing.usage import Usage
from bench.reporting.report import publish
from bench.reporting.tables import table
from clockwork.settings import Settings
from infra.memory import MEMORY_MB, POLLER_MEMORY_MB
from local.emulator import Credentials, Emulator, emulator
from tests.infra.conftest import synthesize

METERED_MINUTES = 60
#: https://aws.amazon.com/calculator/ reckons with 730 hours.
MONTH_MINUTES = 730 * 60
_MILLION = 1_000_000
_GB = 10**9
#: Assumed durations (ms): of a call to DynamoDB, SQS or Lambda, and of an invocation besides its calls.
CALL_MS = 10
INVOCATION_MS = 5
#: Size of the lines that Lambda itself writes about an invocation: START, END and REPORT.
LAMBDA_LOG_BYTES = 350
#: The least dollars of an item with a row of its own on the page.
LEAST_TOLD = 0.10
#: DynamoDB asks KMS for a table's key on behalf of each role that uses the table, assumed here every five minutes:
#: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/encryption.howitworks.html
KEY_MINUTES = 5
#: Lambda keeps up to five receives of 20 s waiting at an idle queue:
#: https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-scaling.html
LONG_POLLS_PER_MINUTE = 15
#: A template whose idle month costs more is not deployed by default; the tests hold it.
MOST_DOLLARS = 4
_MEMORY_MB = {"ticker": MEMORY_MB, "sweeper": MEMORY_MB, "poller": POLLER_MEMORY_MB}


@dataclass(frozen=True, kw_only=True)
class Minute:
    """The usage of an idle minute. `own_metrics`: how many of Clockwork's own metrics are written."""

    usage: Usage
    gb_seconds: float
    log_bytes: float
    own_metrics: int


#: Bounds on an idle minute: the tests hold metered minutes to them, and any template's month at them to MOST_DOLLARS.
AT_MOST = Minute(
    usage=Usage(
        write_units=32,
        read_units=23,
        sqs_sends=0,
        sqs_consumed=3,
        lambda_invocations=5,
        held_batches=0,
        api_requests=0,
    ),
    gb_seconds=0.2,
    log_bytes=1_000,
    own_metrics=0,
)


def measure(running: Emulator, account: Credentials, minutes: int = METERED_MINUTES) -> Minute:
    """Meter some idle minutes with the settings of an account of AWS."""
    settings = Settings.for_account()
    asked = scheduler(running, account, shards=settings.shards, ordered_shards=settings.ordered_shards)
    with asked as (idle, meter):
        before = meter.usage()
        for _ in range(minutes):
            idle.tick()
            idle.sweep()
            idle.clock.hold_until(idle.clock.at + 60_000)
        usage = meter.usage().since(before)
        return minute_of(usage.per_job(minutes), minutes, idle)


def minute_of(usage: Usage, minutes: int, idle: Scheduler) -> Minute:
    """The mean of the minutes for which a scheduler was idle."""
    gb_ms = sum(
        (idle.turns[name] * CALL_MS + count * INVOCATION_MS) * _MEMORY_MB[name] / 1_024
        for name, count in idle.invocations.items()
    )
    lines = [json.loads(line)["_aws"]["CloudWatchMetrics"][0]["Metrics"] for line in idle.lines]
    return Minute(
        usage=usage,
        gb_seconds=gb_ms / 1_000 / minutes,
        log_bytes=sum(len(line) + 1 for line in idle.lines) / minutes,
        own_metrics=len({metric["Name"] for line in lines for metric in line}),
    )


def bill(minute: Minute, stack: Deployed) -> dict[str, float]:
    """Dollars a month by item: all that is deployed by default, but for a dashboard, which three of are free."""
    used = minute.usage
    long_polls = stack.queues * prices.SQS_REQUEST + stack.fifo_queues * prices.SQS_FIFO_REQUEST
    per_million = {
        f"{used.write_units:.0f} writes a minute": used.write_units * prices.WRITE_UNIT,
        f"{used.read_units:.0f} strong reads a minute": used.read_units * prices.READ_UNIT,
        f"{used.lambda_invocations:.0f} invocations a minute": used.lambda_invocations * prices.LAMBDA_REQUEST,
        "the sweeper's receives": used.sqs_requests * prices.SQS_REQUEST,
        f"long polls at {stack.queues + stack.fifo_queues} queues": LONG_POLLS_PER_MINUTE * long_polls,
        "requests for the tables' keys": stack.keyed_tables / KEY_MINUTES * prices.KMS_REQUEST,
    }
    items = {name: dollars * MONTH_MINUTES / _MILLION for name, dollars in per_million.items()}
    log_bytes = minute.log_bytes + stack.platform_lines * used.lambda_invocations * LAMBDA_LOG_BYTES
    items[f"{minute.gb_seconds:.2f} GB-seconds a minute"] = minute.gb_seconds * MONTH_MINUTES * prices.GB_SECOND
    items[f"{log_bytes / 1000:.1f} KB of logs a minute"] = log_bytes * MONTH_MINUTES / _GB * prices.LOG_GB
    items[f"{stack.alarms} alarms on AWS's metrics"] = stack.alarms * prices.ALARM_MONTH
    items[f"own metrics: {minute.own_metrics}"] = minute.own_metrics * prices.METRIC_MONTH
    items[f"{stack.alarms_on_own_metrics} alarms on own metrics"] = stack.alarms_on_own_metrics * prices.ALARM_MONTH
    return items


def page(items: Mapping[str, float]) -> str:
    """The block in the documentation: items of ten cents and more, and the sum of the others."""
    large = {name: dollars for name, dollars in items.items() if dollars >= LEAST_TOLD}
    others = f"{len(items) - len(large)} more, below ${LEAST_TOLD:.2f} each"
    rows = {**large, others: sum(items.values()) - sum(large.values()), "sum": sum(items.values())}
    return table(["an idle month", "dollars"], [[name, f"{dollars:.2f}"] for name, dollars in rows.items()])


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.idle", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true", help="no table, the JSON alone")
    parser.add_argument("--docs", action="store_true", help="write the table into docs/performance.md")
    options = parser.parse_args(arguments)
    with emulator(secure=False) as running:
        minute = measure(running, Credentials.root())
    stack = deployed(synthesize(), Settings.for_account().metrics_namespace)
    items = bill(minute, stack)
    if not options.json:
        sys.stderr.write(f"{page(items)}\n")
    if options.docs:
        publish("idle", page(items))
    told = {**items, "sum": sum(items.values())}
    print(json.dumps({name: round(dollars, 2) for name, dollars in told.items()}))


if __name__ == "__main__":
    main()
