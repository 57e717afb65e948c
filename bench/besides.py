"""Costs beside those per million jobs and of the idle month: storage with its backup, the api's time, and options.

A few jobs in the emulator's tables give the bytes of rows and records. The api's time is computed as in `bench.idle`:
10 ms a call, and two calls for a create. The code and the template give the numbers of own metrics and of alarms. The
rest is prices (`bench/billing/prices.py`).

    python -m bench.besides [--json] [--docs]

The last line of standard output is one JSON object, in dollars; the table goes to standard error, with --docs also into
docs/performance.md. Some seconds.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence

from bench.billing import prices
from bench.billing.deployed import deployed
from bench.billing.meter import item_bytes
from bench.billing.paths import PATHS
from bench.idle import CALL_MS, INVOCATION_MS, MONTH_MINUTES
from bench.reporting.report import publish
from bench.reporting.tables import table
from clockwork.settings import USUAL_METRICS, Settings
from infra.memory import MEMORY_MB
from infra.observability.metrics import STATISTICS
from local.emulator import Credentials, Emulator, emulator
from tests.infra.conftest import synthesize

JOBS = 20
_MILLION = 1_000_000
_GB = 10**9
_HOURS = MONTH_MINUTES / 60
#: DynamoDB stores so much more for each item: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html
ITEM_OVERHEAD = 100
#: Calls one after the other for a create of one job: its row, and the look at its shard.
CALLS_OF_A_CREATE = 2
#: The page adds such an item to the one before.
RECOVERY = "point-in-time recovery"
#: Items that the page leaves out, since the curve or the idle month has them; `--json` has all.
ELSEWHERE = ("the api's time", "(`few`)", " alarms")


def stored(running: Emulator, account: Credentials) -> Mapping[str, float]:
    """The mean bytes of a row, and of a record, of jobs that were created and recorded one by one."""
    PATHS["full_single"].run(running, account, JOBS)
    dynamodb = running.client("dynamodb", account)
    return {
        name: sum(item_bytes(item) for item in dynamodb.scan(TableName=name)["Items"]) / JOBS + ITEM_OVERHEAD
        for name in ("timeline", "executions")
    }


def bill(size: Mapping[str, float], alarms: int) -> dict[str, float]:
    """Dollars by item; those before the month's are for a million jobs."""
    gb_month = {name: each * _MILLION / _GB for name, each in size.items()}
    create_seconds = (CALLS_OF_A_CREATE * CALL_MS + INVOCATION_MS) / 1_000 * MEMORY_MB / 1_024
    return {
        f"a million: rows of {size['timeline']:.0f} bytes, a month": gb_month["timeline"] * prices.STORAGE_GB,
        "a million: their point-in-time recovery": gb_month["timeline"] * prices.RECOVERY_GB,
        f"a million: records of {size['executions']:.0f} bytes, 30 days": gb_month["executions"] * prices.STORAGE_GB,
        "a million: their point-in-time recovery, too": gb_month["executions"] * prices.RECOVERY_GB,
        "a million: the api's time, one job a request": create_seconds * _MILLION * prices.GB_SECOND,
        f"a month: {len(USUAL_METRICS)} own metrics under load (`few`)": len(USUAL_METRICS) * prices.METRIC_MONTH,
        f"a month: {len(STATISTICS)} own metrics (`all`)": len(STATISTICS) * prices.METRIC_MONTH,
        f"a month: {alarms} alarms": alarms * prices.ALARM_MONTH,
        "a month: two provisioned pollers of a release queue, idle": 2 * prices.POLLER_HOUR * _HOURS,
        "a month: the pollers of an ingestion topic": prices.KAFKA_POLLERS_HOUR * _HOURS,
        "a month: MSK Serverless, without partitions and traffic": prices.MSK_SERVERLESS_HOUR * _HOURS,
        "a month: an interface endpoint in two zones": 2 * prices.ENDPOINT_HOUR * _HOURS,
        "a month: a NAT gateway, without traffic": prices.NAT_HOUR * _HOURS,
        "a month: a key of yours (`keyArn`), without requests": prices.KEY_MONTH,
    }


def page(items: Mapping[str, float]) -> str:
    """The block in the documentation: dollars a month, and those of a million rows and records with their recovery."""
    rows: list[tuple[str, float]] = []
    for name, dollars in items.items():
        if RECOVERY in name:
            about, before = rows.pop()
            rows.append((f"{about}, with their recovery", before + dollars))
        elif not any(part in name for part in ELSEWHERE):
            rows.append((name, dollars))
    return table(["besides", "dollars"], [[name, f"{dollars:.2f}"] for name, dollars in rows])


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.besides", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true", help="no table, the JSON alone")
    parser.add_argument("--docs", action="store_true", help="write the table into docs/performance.md")
    options = parser.parse_args(arguments)
    with emulator(secure=False) as running:
        size = stored(running, Credentials.root())
    stack = deployed(synthesize(), Settings.for_account().metrics_namespace)
    items = bill(size, stack.alarms + stack.alarms_on_own_metrics)
    if not options.json:
        sys.stderr.write(f"{page(items)}\n")
    if options.docs:
        publish("besides", page(items))
    print(json.dumps({name: round(dollars, 2) for name, dollars in items.items()}))


if __name__ == "__main__":
    main()
