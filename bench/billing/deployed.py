"""Counts the resources of a template that AWS bills by the month, whether or not there are requests."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from tests.infra.template import Template


@dataclass(frozen=True, kw_only=True)
class Deployed:
    """Counts of alarms, on AWS's metrics and on Clockwork's own, and of queues at which event sources wait.

    `keyed_tables`: for each Lambda that works by the clock, the tables under a key of KMS at which it may work.
    `platform_lines`: whether Lambda writes a line about every invocation, besides those about failures.
    """

    alarms: int
    alarms_on_own_metrics: int
    queues: int
    fifo_queues: int
    keyed_tables: int
    platform_lines: bool


def deployed(template: Template, namespace: str) -> Deployed:
    """Count the resources of a template. `namespace`: the one of Clockwork's own metrics."""
    watched = [alarm["Properties"]["Namespace"] for alarm in template.all("CloudWatch::Alarm").values()]
    sources = template.all("Lambda::EventSourceMapping").values()
    fifo = [_is_fifo(template, source["Properties"]["EventSourceArn"]) for source in sources]
    return Deployed(
        alarms=len(watched) - watched.count(namespace),
        alarms_on_own_metrics=watched.count(namespace),
        queues=fifo.count(False),
        fifo_queues=fifo.count(True),
        keyed_tables=sum(_keyed_tables(template, moment) for moment in ("Ticker", "Poller", "Sweeper")),
        platform_lines=any(_has_platform_lines(one) for one in template.all("Lambda::Function").values()),
    )


def _keyed_tables(template: Template, moment: str) -> int:
    keyed = {
        key
        for key, table in template.all("DynamoDB::GlobalTable").items()
        if table["Properties"].get("SSESpecification", {}).get("SSEType") == "KMS"
    }
    arns = (json.loads(arn) for arn in template.allowed(moment, "dynamodb:"))
    # The ARN of an index is joined, and its table is there with an ARN of its own.
    return sum(arn["Fn::GetAtt"][0] in keyed for arn in arns if "Fn::GetAtt" in arn)


def _has_platform_lines(function: dict[str, Any]) -> bool:
    return bool(function["Properties"].get("LoggingConfig", {}).get("SystemLogLevel", "INFO") != "WARN")


def _is_fifo(template: Template, arn: dict[str, Any]) -> bool:
    logical_id, _ = arn["Fn::GetAtt"]
    return bool(template.all("SQS::Queue")[logical_id]["Properties"].get("FifoQueue", False))
