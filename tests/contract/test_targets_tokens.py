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

from clockwork.aws.targets.service_attempts import ServiceTransport
from clockwork.domain.executions import State
from clockwork.domain.releases import Delivery
from clockwork.targets.http import HttpTarget
from clockwork.targets.kafka.target import KafkaTarget
from clockwork.targets.kafka.targets import _send
from clockwork.targets.message import envelope_of
from clockwork.targets.sqs import SqsTarget
from clockwork.targets.web.webhooks import headers_for
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
    assert headers_for(under_token(delivery).message, 0, [])["clockwork-token"] == TOKEN
    assert "clockwork-token" not in headers_for(delivery.message, 0, [])


def test_an_envelope_has_it_as_a_field() -> None:
    delivery = delivery_to(HttpTarget("https://example.com/"))
    assert json.loads(envelope_of(under_token(delivery).message))["token"] == TOKEN
    assert "token" not in json.loads(envelope_of(delivery.message))


def test_messages_have_it_as_an_attribute() -> None:
    target = SqsTarget("arn:aws:sqs:us-east-1:123456789012:jobs")
    with_it, without = under_token(delivery_to(target)).message, delivery_to(target).message
    assert target.around(with_it)["MessageAttributes"]["token"] == {"DataType": "String", "StringValue": TOKEN}
    assert "token" not in target.around(without)["MessageAttributes"]


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
    transport = ServiceTransport(SqsTarget, OneClient(sqs), WallClock())
    assert [transport.deliver(one).state for one in (first, again, again)] == [State.SUCCEEDED] * 3
    numbers = []
    for _ in range(3):
        got = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10, MessageAttributeNames=["All"])
        for message in got.get("Messages", []):
            numbers.append(message["MessageAttributes"]["attempt"]["StringValue"])
            sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
    assert numbers == ["1", "2"]


def test_without_a_token_all_attempts_are_one_message() -> None:
    target = SqsTarget("arn:aws:sqs:us-east-1:123456789012:jobs.fifo")
    first = delivery_to(target)
    again = msgspec.structs.replace(first, attempt=2)

    def deduplicated_by(delivery: Delivery) -> str:
        return str(target.around(delivery.message)["MessageDeduplicationId"])

    assert deduplicated_by(first) == deduplicated_by(again)
    assert deduplicated_by(under_token(first)) != deduplicated_by(under_token(again))
