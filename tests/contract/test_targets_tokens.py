"""The token of an attempt that ends by callback reaches every type of target, and no other attempt has one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, cast

import botocore.session
import msgspec
import pytest
from botocore.config import Config
from moto import mock_aws

from clockwork.aws.targets.messages import attributes_of, ordering_of
from clockwork.aws.targets.sqs import SqsTransport
from clockwork.domain.executions import State
from clockwork.domain.jobs import HttpTarget, KafkaTarget, SqsTarget
from clockwork.domain.releases import Delivery
from clockwork.domain.targets.envelopes import envelope_of
from clockwork.domain.targets.webhooks import headers_for
from clockwork.kafka.targets import _send
from tests.contract.one_client import OneClient
from tests.contract.receiver import WallClock, delivery_to

TOKEN = "ajob.1777975200250.0.1.secret-of-attempt-0001"
CONFIG = Config(retries={"mode": "standard", "total_max_attempts": 1})


def under_token(delivery: Delivery) -> Delivery:
    return msgspec.structs.replace(delivery, token=TOKEN)


@pytest.fixture
def sqs() -> Iterator[Any]:
    with mock_aws():
        keys: dict[str, Any] = {"aws_access_key_id": "test", "aws_secret_access_key": "test"}
        client = botocore.session.Session().create_client("sqs", region_name="us-east-1", config=CONFIG, **keys)
        yield client
        client.close()


def test_a_webhook_has_it_in_a_header() -> None:
    delivery = delivery_to(HttpTarget("https://example.com/"))
    assert headers_for(under_token(delivery), 0, [])["clockwork-token"] == TOKEN
    assert "clockwork-token" not in headers_for(delivery, 0, [])


def test_an_envelope_has_it_as_a_field() -> None:
    delivery = delivery_to(HttpTarget("https://example.com/"))
    assert json.loads(envelope_of(under_token(delivery)))["token"] == TOKEN
    assert "token" not in json.loads(envelope_of(delivery))


def test_messages_have_it_as_an_attribute() -> None:
    delivery = delivery_to(SqsTarget("arn:aws:sqs:us-east-1:123456789012:jobs"))
    assert attributes_of(under_token(delivery))["token"] == {"DataType": "String", "StringValue": TOKEN}
    assert "token" not in attributes_of(delivery)


def test_a_message_of_kafka_has_it_in_a_header() -> None:
    produced: list[dict[str, Any]] = []

    class Producer:
        def produce(self, *_: Any, **given: Any) -> None:
            produced.append(dict(given["headers"]))

    delivery = delivery_to(KafkaTarget("orders"))
    for one in (under_token(delivery), delivery):
        _send(cast("Any", Producer()), one, KafkaTarget("orders"), lambda *_: None)
    assert [one.get("token") for one in produced] == [TOKEN, None]


def test_on_a_fifo_queue_the_next_attempt_is_no_repeat_since_it_brings_another_token(sqs: Any) -> None:
    url = sqs.create_queue(QueueName="jobs.fifo", Attributes={"FifoQueue": "true"})["QueueUrl"]
    arn = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    first = under_token(delivery_to(SqsTarget(arn)))
    again = msgspec.structs.replace(first, attempt=2, token=TOKEN.replace(".1.", ".2."))
    transport = SqsTransport(OneClient(sqs), WallClock())
    assert [transport.deliver(one).state for one in (first, again, again)] == [State.SUCCEEDED] * 3
    numbers = []
    for _ in range(3):
        got = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10, MessageAttributeNames=["All"])
        for message in got.get("Messages", []):
            numbers.append(message["MessageAttributes"]["attempt"]["StringValue"])
            sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
    assert numbers == ["1", "2"]


def test_without_a_token_all_attempts_are_one_message() -> None:
    first = delivery_to(SqsTarget("arn:aws:sqs:us-east-1:123456789012:jobs.fifo"))
    again = msgspec.structs.replace(first, attempt=2)
    assert ordering_of(None, first) == ordering_of(None, again)
    assert ordering_of(None, under_token(first)) != ordering_of(None, under_token(again))
