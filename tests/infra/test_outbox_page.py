"""The how-to page of the outbox: its programs run in memory, and its stack is synthesized."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest
from aws_cdk import assertions
from botocore.exceptions import ClientError
from moto import mock_aws

from clockwork_client import http, job
from infra import ROOT
from tests.handlers.handlers import Api
from tests.sdk.edge import InMemory, client_of
from tests.sdk.streams import Stream, client
from tests.unit.test_docs import fenced

OUTBOX = ROOT / "docs/howto/outbox.md"


@pytest.fixture
def shop(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    """The names that the programs of the page leave behind, beside an API whose clock is the machine's."""
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    with mock_aws():
        api = Api()
        api.clockwork.clock.at = int(time.time() * 1000)
        found: dict[str, Any] = {"api": api, "Clockwork": lambda: client_of(InMemory(api))}
        for program in fenced(OUTBOX, "python"):
            exec(program.replace("import Clockwork, ", "import "), found)
        yield found


def resources(shop: dict[str, Any], kind: str) -> dict[str, Any]:
    """The properties of the resources of a kind in the page's template, by the begin of their names."""
    template = assertions.Template.from_stack(shop["stack"])
    return {name[:6]: one["Properties"] for name, one in template.find_resources(kind).items()}


def test_the_outbox_of_the_page_does_what_the_page_says(shop: dict[str, Any]) -> None:
    dynamodb: Any = client()
    tables = resources(shop, "AWS::DynamoDB::Table")
    for name, made in tables.items():
        asked = {one: made[one] for one in ("KeySchema", "AttributeDefinitions") if one in made}
        stream = made.get("StreamSpecification")
        more = {"StreamSpecification": {"StreamEnabled": True, **stream}} if stream else {}
        dynamodb.create_table(TableName=name, BillingMode="PAY_PER_REQUEST", **asked, **more)
    stream = Stream(dynamodb, "Outbox")
    shop["place"](dynamodb, "Orders", "Outbox", "17")
    with pytest.raises(ClientError, match="ConditionalCheckFailed"):
        shop["place"](dynamodb, "Orders", "Outbox", "17")
    shop["place"](dynamodb, "Orders", "Outbox", "18")
    broken = {"clockworkKey": {"S": "reminder-of-19"}, "clockworkRequest": {"S": "{}"}}
    dynamodb.put_item(TableName="Outbox", Item=broken)
    while stream.position < len(stream.records()):
        assert stream.deliver(shop["handler"]) == {"batchItemFailures": []}
    marked = dynamodb.get_item(TableName="Outbox", Key={"clockworkKey": {"S": "reminder-of-19"}})["Item"]
    assert marked["clockworkRefused"]["S"].startswith("422")
    mended = job(http("https://example.com/remind"), {"order": "19"}, in_=1_700)
    shop["again"](dynamodb, "Outbox", "reminder-of-19", mended)
    while stream.position < len(stream.records()):
        stream.deliver(shop["handler"])
    clockwork = shop["api"].clockwork
    clockwork.run_until(clockwork.clock.at + 2_000_000)
    bodies = sorted(one.occurrence.payload.body for one in clockwork.targets.delivered)
    assert bodies == [b'{"order":"17"}', b'{"order":"18"}', b'{"order":"19"}']


def test_the_template_of_the_page_has_what_the_relay_needs(shop: dict[str, Any]) -> None:
    (mapping,) = resources(shop, "AWS::Lambda::EventSourceMapping").values()
    assert mapping["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
    assert mapping["StartingPosition"] == "TRIM_HORIZON"
    assert "OnFailure" in mapping["DestinationConfig"]
    (pattern,) = mapping["FilterCriteria"]["Filters"]
    assert pattern == {"Pattern": '{"dynamodb":{"NewImage":{"clockworkKey":{"S":[{"exists":true}]}}}}'}
    assert resources(shop, "AWS::DynamoDB::Table")["Outbox"]["StreamSpecification"] == {
        "StreamViewType": "NEW_AND_OLD_IMAGES"
    }
