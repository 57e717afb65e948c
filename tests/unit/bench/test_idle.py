"""The bill of an idle month: the units counted times the price of a unit."""

from __future__ import annotations

import pytest

from bench.billing import prices
from bench.billing.deployed import Deployed, deployed
from bench.billing.usage import Usage
from bench.idle import MONTH_MINUTES, Minute, besides, bill, page
from tests.infra.template import Template

USED = Usage(
    write_units=80,
    read_units=60,
    sqs_sends=0,
    sqs_consumed=2,
    lambda_invocations=34,
    held_batches=0,
    api_requests=0,
)
MINUTE = Minute(usage=USED, gb_seconds=1.5, log_bytes=20_000, own_metrics=23)
STACK = Deployed(alarms=22, alarms_on_own_metrics=8, queues=1, fifo_queues=1)


def test_each_item_is_a_price_times_what_is_used_in_a_month() -> None:
    items = bill(MINUTE, STACK)
    assert items["80 writes a minute"] == pytest.approx(80 * MONTH_MINUTES * 0.625e-6)
    assert items["long polls at 2 queues"] == pytest.approx(15 * MONTH_MINUTES * 0.9e-6)
    assert items["1.50 GB-seconds a minute"] == pytest.approx(1.5 * MONTH_MINUTES * prices.GB_SECOND)
    assert items["20.0 KB of logs a minute"] == pytest.approx(20_000 * MONTH_MINUTES / 1e9 * 0.5)
    assert items["22 alarms on AWS's metrics"] == pytest.approx(2.20)


def test_metrics_of_its_own_and_the_alarms_on_them_come_on_top() -> None:
    assert besides(MINUTE, STACK) == pytest.approx({"23 metrics of its own": 6.90, "8 alarms on them": 0.80})


def test_the_sum_on_the_page_is_that_of_the_items_on_the_page() -> None:
    rows = [line.strip("| ").split(" | ") for line in page(bill(MINUTE, STACK), besides(MINUTE, STACK)).splitlines()]
    dollars = {row[0]: float(row[1]) for row in rows[2:] if len(row) == 2}
    told = dollars.pop("sum")
    items = [amount for name, amount in dollars.items() if not name.startswith("besides: ")]
    assert len(items) == len(bill(MINUTE, STACK))
    assert told == pytest.approx(sum(items), abs=0.005 * len(items))


def test_what_stands_is_counted_in_the_template() -> None:
    resources = {
        "Plain": {"Type": "AWS::SQS::Queue", "Properties": {}},
        "Ordered": {"Type": "AWS::SQS::Queue", "Properties": {"FifoQueue": True}},
        "DeadLetters": {"Type": "AWS::SQS::Queue", "Properties": {}},
        "FromPlain": _source("Plain"),
        "FromOrdered": _source("Ordered"),
        "Late": _alarm("Own"),
        "InFlight": _alarm("AWS/SQS"),
        "Errors": _alarm("AWS/Lambda"),
    }
    found = deployed(Template({"Resources": resources}), "Own")
    assert found == Deployed(alarms=2, alarms_on_own_metrics=1, queues=1, fifo_queues=1)


def _source(queue: str) -> dict[str, object]:
    arn = {"Fn::GetAtt": [queue, "Arn"]}
    return {"Type": "AWS::Lambda::EventSourceMapping", "Properties": {"EventSourceArn": arn}}


def _alarm(namespace: str) -> dict[str, object]:
    return {"Type": "AWS::CloudWatch::Alarm", "Properties": {"Namespace": namespace}}
