"""Deliveries to Kinesis: the record that arrives, and its partition key."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import botocore.session
import msgspec
import pytest
from moto import mock_aws

from clockwork.aws.targets.service_attempts import ServiceTransport
from clockwork.domain.executions import State
from clockwork.domain.ids import derive
from clockwork.targets.kinesis import KinesisTarget
from clockwork.targets.message import Message, Payload
from tests.contract.one_client import OneClient
from tests.contract.receiver import WallClock, delivery_to


@pytest.fixture(params=["moto", "emulator"])
def kinesis(request: pytest.FixtureRequest) -> Iterator[Any]:
    """A client of Kinesis, played by moto or by the emulator."""
    if request.param == "emulator":
        yield request.getfixturevalue("emulator").client("kinesis", request.getfixturevalue("account"))
        return
    with mock_aws():
        client = botocore.session.Session().create_client(
            "kinesis", region_name="us-east-1", aws_access_key_id="test", aws_secret_access_key="test"
        )
        yield client
        client.close()


def test_a_record_arrives_with_the_facts_and_the_payload(kinesis: Any) -> None:
    kinesis.create_stream(StreamName="orders", ShardCount=1)
    kinesis.get_waiter("stream_exists").wait(StreamName="orders", WaiterConfig={"Delay": 1})
    arn = kinesis.describe_stream_summary(StreamName="orders")["StreamDescriptionSummary"]["StreamARN"]
    delivery = delivery_to(KinesisTarget(arn), Payload(b'{"n":[1,"x"]}'))
    outcome = ServiceTransport(KinesisTarget, OneClient(kinesis), WallClock()).deliver(delivery)
    assert (outcome.state, outcome.error) == (State.SUCCEEDED, None)
    (shard,) = kinesis.list_shards(StreamName="orders")["Shards"]
    first = kinesis.get_shard_iterator(StreamName="orders", ShardId=shard["ShardId"], ShardIteratorType="TRIM_HORIZON")
    (record,) = kinesis.get_records(ShardIterator=first["ShardIterator"])["Records"]
    assert record["PartitionKey"] == delivery.job_id
    told = json.loads(record["Data"])
    assert (told["executionId"], told["attempt"], told["payload"]) == (delivery.execution_id, 1, {"n": [1, "x"]})


STREAM = "arn:aws:kinesis:us-east-1:123456789012:stream/orders"


@pytest.mark.parametrize(
    ("job_id", "key", "expected"),
    [("j", None, "j"), ("j", "mine", "mine"), ("j" * 300, None, derive("partition-key", "j" * 300))],
    ids=["the job's", "its own", "in place of one that is too long"],
)
def test_a_record_has_a_partition_key_that_kinesis_takes(job_id: str, key: str | None, expected: str) -> None:
    entry = KinesisTarget(STREAM, partition_key=key).entry(Message("e", job_id, 1, 0, Payload(b"1")))
    assert (entry["StreamARN"], entry["PartitionKey"]) == (STREAM, expected)


def test_a_partition_key_of_its_own_goes_before_the_ordering_key() -> None:
    stream = KinesisTarget(STREAM)
    assert stream.in_order("k").partition_key == "k"
    assert msgspec.structs.replace(stream, partition_key="mine").in_order("k").partition_key == "mine"
