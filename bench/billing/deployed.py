"""Counts the resources of a template that AWS bills by the month, whether or not there are requests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tests.infra.template import Template


@dataclass(frozen=True, kw_only=True)
class Deployed:
    """Counts of alarms, on AWS's metrics and on Clockwork's own, and of queues at which event sources wait."""

    alarms: int
    alarms_on_own_metrics: int
    queues: int
    fifo_queues: int


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
    )


def _is_fifo(template: Template, arn: dict[str, Any]) -> bool:
    logical_id, _ = arn["Fn::GetAtt"]
    return bool(template.all("SQS::Queue")[logical_id]["Properties"].get("FifoQueue", False))
