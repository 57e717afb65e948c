"""Both data planes at one service: the lean one, and the one on botocore that it is held to."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import botocore.loaders
import botocore.session
from botocore.exceptions import ClientError

from clockwork.aws.plane.plane import Outcome, Plane
from clockwork.aws.repeats import Backoff
from clockwork.aws.session import Aws

LEAN, BOTOCORE = "lean", "botocore"
BOTH = (LEAN, BOTOCORE)
#: Long enough for any answer that comes at all.
PATIENT = 60.0
_LOADER = botocore.loaders.create_loader()

PUT = {"TableName": "t", "Item": {"id": {"S": "é"}, "blob": {"B": b"\x00\xff"}, "set": {"NS": ["1", "2"]}}}
GET = {"TableName": "t", "Key": {"id": {"S": "a"}}, "ConsistentRead": True}
UPDATE = {"TableName": "t", "Key": {"id": {"S": "a"}}, "UpdateExpression": "SET #a = :a", "ReturnValues": "ALL_NEW"}
QUERY = {"TableName": "t", "KeyConditionExpression": "#id = :id", "Limit": 5}
WRITES = {"RequestItems": {"t": [{"PutRequest": {"Item": PUT["Item"]}}, {"DeleteRequest": {"Key": GET["Key"]}}]}}
READS = {"RequestItems": {"t": {"Keys": [GET["Key"]], "ConsistentRead": True}}}
SEND = {"QueueUrl": "https://sqs/1/q", "Entries": [{"Id": "0", "MessageBody": "é", "DelaySeconds": 1}]}
DELETE = {"TableName": "t", "Key": {"id": {"S": "a"}}}
HIDE = {"QueueUrl": "https://sqs/1/q", "Entries": [{"Id": "0", "ReceiptHandle": "r", "VisibilityTimeout": 3}]}
DONE = {"QueueUrl": "https://sqs/1/q", "Entries": [{"Id": "0", "ReceiptHandle": "r"}]}
COUNTS = {"QueueUrl": "https://sqs/1/q", "AttributeNames": ["ApproximateNumberOfMessages"]}

#: Each operation of the data plane, with its service and an example.
CALLS: dict[str, tuple[str, dict[str, Any]]] = {
    "BatchGetItem": ("dynamodb", READS),
    "BatchWriteItem": ("dynamodb", WRITES),
    "DeleteItem": ("dynamodb", DELETE),
    "GetItem": ("dynamodb", GET),
    "PutItem": ("dynamodb", PUT),
    "Query": ("dynamodb", QUERY),
    "Scan": ("dynamodb", {"TableName": "t", "ConsistentRead": True}),
    "UpdateItem": ("dynamodb", UPDATE),
    "ChangeMessageVisibilityBatch": ("sqs", HIDE),
    "DeleteMessageBatch": ("sqs", DONE),
    "GetQueueAttributes": ("sqs", COUNTS),
    "SendMessageBatch": ("sqs", SEND),
}


def session_of(access_key: str = "AKIDEXAMPLE", token: str | None = "token/+=") -> botocore.session.Session:
    """A session with these credentials."""
    session = botocore.session.Session()
    session.register_component("data_loader", _LOADER)
    session.set_config_variable("region", "us-east-1")
    session.set_credentials(access_key, "secret", token)
    return session


@contextmanager
def connected(kind: str, url: str | None, pauses: list[float] | None = None, **options: Any) -> Iterator[Aws]:
    """A connection of one kind. The lean one notes its pauses, of the longest that jitter allows."""
    noted: list[float] = [] if pauses is None else pauses
    backoff = Backoff(sleep=noted.append, fraction=lambda: 1.0)
    options = {"session": session_of(), "announced": False, **options}
    aws = Aws(options.pop("session"), endpoint_url=url, lean=kind == LEAN, backoff=backoff, **options)
    try:
        yield aws
    finally:
        aws.close()


def outcome(plane: Plane, operation: str) -> Outcome:
    """The outcome of the example of an operation."""
    try:
        return plane.call(operation, **CALLS[operation][1])
    except Exception as error:  # noqa: BLE001 - compared with the other plane's
        return error


def told(outcome: Outcome) -> Any:
    """An outcome in a form that can be compared: the answer, or the kind of the exception and what it says."""
    if isinstance(outcome, ClientError):
        metadata = {name: one for name, one in outcome.response["ResponseMetadata"].items() if name != "HTTPHeaders"}
        if outcome.response["Error"]["Code"].isdigit():
            metadata.pop("RequestId", "")  # of an answer without a code, only the lean plane keeps the id
        more = {name: one for name, one in outcome.response.items() if name not in ("ResponseMetadata", "message")}
        return "ClientError", str(outcome), metadata, more
    return type(outcome).__name__ if isinstance(outcome, Exception) else outcome
