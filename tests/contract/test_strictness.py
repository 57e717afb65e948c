"""Strictness: the checks of every contract test find the requests that AWS would refuse."""

from __future__ import annotations

import pytest
from botocore.exceptions import ClientError

from tests.contract.worlds import AwsWorld


def test_a_plain_attribute_name_in_an_expression_is_found(aws_world: AwsWorld) -> None:
    with pytest.raises(AssertionError, match="owner"):
        aws_world.aws.client("dynamodb").put_item(
            TableName=aws_world.table("shards"),
            Item={"partitionId": {"S": "p000"}},
            ConditionExpression="attribute_not_exists(owner) AND #epoch = :epoch",
        )


def test_a_weak_read_is_found(aws_world: AwsWorld) -> None:
    dynamodb, table, key = aws_world.aws.client("dynamodb"), aws_world.table("shards"), {"partitionId": {"S": "p000"}}
    with pytest.raises(AssertionError, match="weak GetItem"):
        dynamodb.get_item(TableName=table, Key=key)
    with pytest.raises(AssertionError, match="weak BatchGetItem"):
        dynamodb.batch_get_item(RequestItems={table: {"Keys": [key]}})


@pytest.mark.parametrize(("count", "body", "delay"), [(11, "x", 0), (2, "x" * 600_000, 0), (1, "x", 901)])
def test_a_batch_that_sqs_refuses_is_found(aws_world: AwsWorld, count: int, body: str, delay: int) -> None:
    entries = [{"Id": str(n), "MessageBody": body, "DelaySeconds": delay} for n in range(count)]
    with pytest.raises(AssertionError):
        aws_world.aws.client("sqs").send_message_batch(QueueUrl=aws_world.queue_url(), Entries=entries)


def test_the_emulator_refuses_a_batch_of_26_rows(emulated: AwsWorld) -> None:
    puts = [{"PutRequest": {"Item": {"partitionId": {"S": str(n)}}}} for n in range(26)]
    with pytest.raises(ClientError, match="ValidationException"):
        emulated.aws.client("dynamodb").batch_write_item(RequestItems={emulated.table("shards"): puts})
