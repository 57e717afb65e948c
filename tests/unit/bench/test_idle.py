"""The bill of an idle month: the units counted times the price of a unit."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from bench.billing import prices
from bench.billing.deployed import Deployed, deployed
from bench.billing.usage import Usage
from bench.idle import LAMBDA_LOG_BYTES, LEAST_TOLD, MONTH_MINUTES, Minute, bill, page
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
STACK = Deployed(alarms=22, alarms_on_own_metrics=8, queues=1, fifo_queues=1, keyed_tables=10, platform_lines=False)


def test_each_item_is_a_price_times_what_is_used_in_a_month() -> None:
    items = bill(MINUTE, STACK)
    assert items["80 writes a minute"] == pytest.approx(80 * MONTH_MINUTES * 0.625e-6)
    assert items["long polls at 2 queues"] == pytest.approx(15 * MONTH_MINUTES * 0.9e-6)
    assert items["1.50 GB-seconds a minute"] == pytest.approx(1.5 * MONTH_MINUTES * prices.GB_SECOND)
    assert items["20.0 KB of logs a minute"] == pytest.approx(20_000 * MONTH_MINUTES / 1e9 * 0.5)
    assert items["22 alarms on AWS's metrics"] == pytest.approx(2.20)


def test_own_metrics_the_alarms_on_them_and_keys_are_part_of_the_sum() -> None:
    items = bill(MINUTE, STACK)
    assert items["own metrics: 23"] == pytest.approx(6.90)
    assert items["8 alarms on own metrics"] == pytest.approx(0.80)
    assert items["requests for the tables' keys"] == pytest.approx(10 / 5 * MONTH_MINUTES * 3e-6)


def test_lines_that_lambda_writes_about_each_invocation_are_paid_for() -> None:
    quiet, chatty = (sum(bill(MINUTE, replace(STACK, platform_lines=lines)).values()) for lines in (False, True))
    assert chatty - quiet == pytest.approx(34 * LAMBDA_LOG_BYTES * MONTH_MINUTES / 1e9 * 0.5)


def test_the_sum_on_the_page_is_that_of_the_items_on_the_page() -> None:
    rows = [line.strip("| ").split(" | ") for line in page(bill(MINUTE, STACK)).splitlines()]
    dollars = {row[0]: float(row[1]) for row in rows[2:] if len(row) == 2}
    told = dollars.pop("sum")
    (others,) = (name for name in dollars if name.endswith(" more, below $0.10 each"))
    assert len(dollars) - 1 + int(others.split()[0]) == len(bill(MINUTE, STACK))
    assert told == pytest.approx(sum(dollars.values()), abs=0.005 * len(dollars))
    assert min(usd for name, usd in dollars.items() if name != others) >= LEAST_TOLD


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
        "Keyed": _table("KMS"),
        "AlsoKeyed": _table("KMS"),
        "Owned": _table("AES256"),
        **_function("Ticker", "Keyed", "Owned"),
        **_function("Poller", "Keyed", "AlsoKeyed"),
        **_function("Sweeper", "Owned"),
        **_function("Api", "Keyed"),
    }
    found = deployed(Template({"Resources": resources}), "Own")
    assert found == Deployed(
        alarms=2, alarms_on_own_metrics=1, queues=1, fifo_queues=1, keyed_tables=3, platform_lines=False
    )
    resources["FunctionsApi"]["Properties"]["LoggingConfig"]["SystemLogLevel"] = "INFO"
    assert deployed(Template({"Resources": resources}), "Own").platform_lines


def _source(queue: str) -> dict[str, Any]:
    arn = {"Fn::GetAtt": [queue, "Arn"]}
    return {"Type": "AWS::Lambda::EventSourceMapping", "Properties": {"EventSourceArn": arn}}


def _alarm(namespace: str) -> dict[str, Any]:
    return {"Type": "AWS::CloudWatch::Alarm", "Properties": {"Namespace": namespace}}


def _table(encryption: str) -> dict[str, Any]:
    return {"Type": "AWS::DynamoDB::GlobalTable", "Properties": {"SSESpecification": {"SSEType": encryption}}}


def _function(moment: str, *tables: str) -> dict[str, Any]:
    role = f"{moment}Role"
    statements = [
        {"Action": ["dynamodb:Query"], "Resource": {"Fn::GetAtt": [table, "Arn"]}, "Effect": "Allow"}
        for table in tables
    ]
    properties = {"Role": {"Fn::GetAtt": [role, "Arn"]}, "LoggingConfig": {"SystemLogLevel": "WARN"}}
    policy = {"Roles": [{"Ref": role}], "PolicyDocument": {"Statement": statements}}
    return {
        f"Functions{moment}": {"Type": "AWS::Lambda::Function", "Properties": properties},
        f"{moment}Policy": {"Type": "AWS::IAM::Policy", "Properties": policy},
    }
