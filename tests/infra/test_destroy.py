"""What stays of a stack is listed with its cost, and is what a new stack takes up by its option `adopt`."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rollout.destroy import adoption, report
from rollout.live import Resource
from tests.infra.conftest import synthesize
from tests.infra.option_sets import KAFKA
from tests.infra.template import TABLES, strings

QUEUES = ("Release", "DeadLetters", "OrderedRelease", "OrderedDeadLetters")
QUEUE_URL = "https://sqs.us-east-1.amazonaws.com/123456789012"
KEPT = [
    *(Resource("AWS::DynamoDB::GlobalTable", f"Storage{name}", f"Old-Storage{name}", True) for name in TABLES),
    *(Resource("AWS::SQS::Queue", f"Queues{name}", f"{QUEUE_URL}/Old-{name}", True) for name in QUEUES),
    Resource("AWS::SQS::Queue", "IngestionInbound", f"{QUEUE_URL}/Old-Inbound.fifo", True),
    Resource("AWS::Logs::LogGroup", "ApiAccessLog", "/aws/vendedlogs/Old/access-1", True),
]


def test_tables_are_adopted_and_only_queues_that_hold_something() -> None:
    found = adoption(KEPT, {"Old-OrderedRelease": 3, "Old-Inbound.fifo": 1, "Old-Release": 0})
    assert found == {
        "tables": {name.lower(): f"Old-Storage{name}" for name in TABLES},
        "queues": {"OrderedRelease": "Old-OrderedRelease", "Inbound": "Old-Inbound.fifo"},
    }


def test_the_report_names_everything_that_stays_with_its_cost() -> None:
    told = report("Old", KEPT, {"Old-OrderedRelease": 3}, ["acme"])
    for one in KEPT:
        assert one.physical.rpartition(f"{QUEUE_URL}/")[2] in told
    assert "Old-OrderedRelease (3 messages)" in told
    assert told.endswith("Resume them once the new stack runs:\n  acme")
    assert "protected against deletion" in told


@pytest.mark.parametrize("more", [{}, {"kafka": KAFKA, "ingestionQueue": True}], ids=["plain", "all"])
def test_what_is_adopted_is_used_and_not_made(more: dict[str, Any]) -> None:
    names = [f"{kind}{one}" for kind in ("", *(["Kafka"] if more else [])) for one in QUEUES]
    names += ["Inbound", "InboundDeadLetters", "Rejected"] if more else []
    queues = {
        name: f"Old-{name}{'.fifo' if name.startswith(('Ordered', 'KafkaOrdered', 'Inb')) else ''}" for name in names
    }
    tables = {name.lower(): f"Old-Storage{name}" for name in TABLES}
    template = synthesize(adopt=json.dumps({"tables": tables, "queues": queues}), **more)
    assert not template.all("DynamoDB::GlobalTable")
    assert not template.all("SQS::Queue")
    variables = template.function("Api")["Properties"]["Environment"]["Variables"]
    assert [variables[f"{name}_TABLE"] for name in map(str.upper, TABLES)] == [f"Old-Storage{name}" for name in TABLES]
    assert "".join(strings(variables["ORDERED_RELEASE_QUEUE_URL"])).endswith("/Old-OrderedRelease.fifo")
    sources = template.all("Lambda::EventSourceMapping").values()
    arns = ["".join(strings(one["Properties"]["EventSourceArn"])) for one in sources]
    assert len([arn for arn in arns if "Old-" in arn]) == (5 if more else 2)
    consumed = [name for name in template.allowed("Deliverer", "sqs:") if "Old-Release" in name]
    assert consumed
    index = [one for one in template.allowed("Api", "dynamodb:") if "Old-StorageExecutions/index/attention" in one]
    assert index
