"""A table with an outbox on moto, and Lambda's part of its stream: batches, repeats, and the checkpoint."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import boto3
from mypy_boto3_dynamodb import DynamoDBClient

Handler = Callable[[Mapping[str, Any], Any], dict[str, Any]]


@cache
def _session() -> boto3.Session:
    return boto3.Session("testing", "testing", region_name="us-east-1")


class Context:
    """Lambda's context: how long the function may still run."""

    def __init__(self, remaining: Callable[[], float] = lambda: 60.0) -> None:
        self._remaining = remaining

    def get_remaining_time_in_millis(self) -> int:
        """As Lambda says it."""
        return int(self._remaining() * 1000)


class Stream:
    """The stream of `table`. It goes on where the handler's answers say, and a handler that raises gets all again."""

    def __init__(self, dynamodb: DynamoDBClient, table: str) -> None:
        self.arn = dynamodb.describe_table(TableName=table)["Table"]["LatestStreamArn"]
        self.position = 0

    def records(self) -> list[dict[str, Any]]:
        """All records, as Lambda hands them out: with times in epoch seconds."""
        streams: Any = _session().client("dynamodbstreams")
        (shard,) = streams.describe_stream(StreamArn=self.arn)["StreamDescription"]["Shards"]
        start = streams.get_shard_iterator(
            StreamArn=self.arn, ShardId=shard["ShardId"], ShardIteratorType="TRIM_HORIZON"
        )
        found = streams.get_records(ShardIterator=start["ShardIterator"])["Records"]
        for one in found:
            one["eventSourceARN"] = self.arn
            made_at = one["dynamodb"]["ApproximateCreationDateTime"]
            one["dynamodb"]["ApproximateCreationDateTime"] = made_at.timestamp()
        return list(found)

    def deliver(self, handler: Handler, context: Context | None = None, batch: int = 100) -> dict[str, Any]:
        """One run of the handler, with the records that are not done."""
        waiting = self.records()[self.position : self.position + batch]
        answer = handler({"Records": waiting}, context or Context())
        failed = [one["itemIdentifier"] for one in answer["batchItemFailures"]]
        numbers = [one["dynamodb"]["SequenceNumber"] for one in waiting]
        self.position += min((numbers.index(one) for one in failed), default=len(numbers))
        return answer


def client() -> DynamoDBClient:
    """boto3's client, with throw-away credentials."""
    return _session().client("dynamodb")


def make_tables(dynamodb: DynamoDBClient) -> Stream:
    """`orders`, and `outbox` with its stream."""
    for name, key in (("orders", "order"), ("outbox", "clockworkKey")):
        dynamodb.create_table(
            TableName=name,
            KeySchema=[{"AttributeName": key, "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": key, "AttributeType": "S"}],
            BillingMode="PAY_PER_REQUEST",
            StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
        )
    return Stream(dynamodb, "outbox")
