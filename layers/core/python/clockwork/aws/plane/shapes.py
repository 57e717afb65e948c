"""Answers of DynamoDB and SQS: the members that botocore's models know, so that binary values arrive as bytes."""

from __future__ import annotations

from typing import Any, TypedDict

import msgspec


class Value(TypedDict, total=False):
    """One attribute's value."""

    S: str
    N: str
    B: bytes
    SS: list[str]
    NS: list[str]
    BS: list[bytes]
    L: list[Value]
    M: dict[str, Value]
    NULL: bool
    BOOL: bool


Item = dict[str, Value]


class _Answer(TypedDict, total=False):
    ConsumedCapacity: dict[str, Any] | list[Any]
    ItemCollectionMetrics: dict[str, Any]


class _Got(_Answer, total=False):
    Item: Item


class _Changed(_Answer, total=False):
    Attributes: Item


class _Page(_Answer, total=False):
    Items: list[Item]
    Count: int
    ScannedCount: int
    LastEvaluatedKey: Item


class _Keys(TypedDict, total=False):
    Keys: list[Item]
    AttributesToGet: list[str]
    ConsistentRead: bool
    ProjectionExpression: str
    ExpressionAttributeNames: dict[str, str]


class _GotBatch(_Answer, total=False):
    Responses: dict[str, list[Item]]
    UnprocessedKeys: dict[str, _Keys]


class _Put(TypedDict, total=False):
    Item: Item


class _Deletion(TypedDict, total=False):
    Key: Item


class _Write(TypedDict, total=False):
    PutRequest: _Put
    DeleteRequest: _Deletion


class _WroteBatch(_Answer, total=False):
    UnprocessedItems: dict[str, list[_Write]]


class _Batch(TypedDict, total=False):
    Successful: list[dict[str, str | bool | int]]
    Failed: list[dict[str, str | bool | int]]


class _Attributes(TypedDict, total=False):
    Attributes: dict[str, str]


class Refused(TypedDict, total=False):
    """The members of a refused conditional write, besides its code."""

    Item: Item


#: The decoder of each operation's answer, by service and operation.
DECODERS: dict[tuple[str, str], msgspec.json.Decoder[Any]] = {
    ("dynamodb", "BatchGetItem"): msgspec.json.Decoder(_GotBatch),
    ("dynamodb", "BatchWriteItem"): msgspec.json.Decoder(_WroteBatch),
    ("dynamodb", "DeleteItem"): msgspec.json.Decoder(_Changed),
    ("dynamodb", "GetItem"): msgspec.json.Decoder(_Got),
    ("dynamodb", "PutItem"): msgspec.json.Decoder(_Changed),
    ("dynamodb", "Query"): msgspec.json.Decoder(_Page),
    ("dynamodb", "Scan"): msgspec.json.Decoder(_Page),
    ("dynamodb", "UpdateItem"): msgspec.json.Decoder(_Changed),
    ("sqs", "ChangeMessageVisibilityBatch"): msgspec.json.Decoder(_Batch),
    ("sqs", "DeleteMessageBatch"): msgspec.json.Decoder(_Batch),
    ("sqs", "GetQueueAttributes"): msgspec.json.Decoder(_Attributes),
    ("sqs", "SendMessageBatch"): msgspec.json.Decoder(_Batch),
}
