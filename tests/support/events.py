"""Complete events as AWS hands them to each Lambda: a handler must bear the fields that it does not read, too."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from clockwork.routes import ROUTES
from tests.support.examples import ALICE, NOW

REGION = "us-east-1"
#: The route key of a request that no route takes.
NO_ROUTE = "$default"


@dataclass(frozen=True)
class LambdaContext:
    """The context of an invocation, as far as the handlers use it."""

    remaining_ms: int = 20_000
    function_name: str = "Clockwork"
    aws_request_id: str = "8476a536-e9f4-11e8-9739-2dfe598c3fcd"
    memory_limit_in_mb: int = 512
    invoked_function_arn: str = "arn:aws:lambda:us-east-1:123456789012:function:Clockwork"

    def get_remaining_time_in_millis(self) -> int:
        """How long this invocation may still run."""
        return self.remaining_ms


def http_event(
    method: str,
    path: str,
    body: str | bytes | None = None,
    *,
    caller: str | None = ALICE,
    headers: Mapping[str, str] | None = None,
    query: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """A request through an HTTP API (payload format 2.0); without a `caller` it came by a route without authorizer.

    A body of bytes is encoded as base64.
    https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-integrations-lambda.html
    """
    route_key, parameters = _matched(method, path)
    event: dict[str, Any] = {
        "version": "2.0",
        "routeKey": route_key,
        "rawPath": path,
        "rawQueryString": urlencode(query or {}),
        "headers": {"host": "id.execute-api.us-east-1.amazonaws.com", "content-type": "application/json"}
        | {name.lower(): value for name, value in (headers or {}).items()},
        "requestContext": {
            "accountId": "111111111111",
            "apiId": "id",
            "domainName": "id.execute-api.us-east-1.amazonaws.com",
            "domainPrefix": "id",
            "http": {
                "method": method,
                "path": path,
                "protocol": "HTTP/1.1",
                "sourceIp": "192.0.2.1",
                "userAgent": "agent",
            },
            "requestId": "JKJaXmPLvHcESHA=",
            "routeKey": route_key,
            "stage": "$default",
            "time": "10/Mar/2026:05:16:23 +0000",
            "timeEpoch": 1_773_119_783_636,
        },
        "isBase64Encoded": isinstance(body, bytes),
    }
    if caller is not None:
        event["requestContext"]["authorizer"] = {"iam": _identity(caller)}
    if parameters:
        event["pathParameters"] = parameters
    if query:
        event["queryStringParameters"] = dict(query)
    if body is not None:
        event["body"] = base64.b64encode(body).decode() if isinstance(body, bytes) else body
    return event


def sqs_event(messages: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """A batch of (messageId, body) from the release queue.

    https://docs.aws.amazon.com/lambda/latest/dg/with-sqs.html
    """
    return {"Records": [_record(message_id, body) for message_id, body in messages]}


def ordered_event(messages: Sequence[tuple[str, str, str, str, int]]) -> dict[str, Any]:
    """A batch of (messageId, body, receiptHandle, group, receives) from the ordered queue, which is FIFO."""
    records = []
    for message_id, body, receipt, group, receives in messages:
        record = _record(message_id, body)
        record |= {"receiptHandle": receipt, "eventSourceARN": f"{record['eventSourceARN']}.fifo"}
        record["attributes"] |= {
            "ApproximateReceiveCount": str(receives),
            "MessageGroupId": group,
            "MessageDeduplicationId": message_id,
            "SequenceNumber": "18849496460467696128",
        }
        records.append(record)
    return {"Records": records}


def scheduled_event() -> dict[str, Any]:
    """A fire of an EventBridge rule.

    https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-run-lambda-schedule.html
    """
    return {
        "version": "0",
        "id": "53dc4d37-cffa-4f76-80c9-8b7d4a4d2eaa",
        "detail-type": "Scheduled Event",
        "source": "aws.events",
        "account": "111111111111",
        "time": "2026-10-08T16:53:06Z",
        "region": REGION,
        "resources": [f"arn:aws:events:{REGION}:111111111111:rule/Tick"],
        "detail": {},
    }


def poller_event(partition_id: str) -> dict[str, Any]:
    """The event with which the ticker and the API invoke a poller."""
    return {"partitionId": partition_id}


def poller_of_several_event(partition_ids: Sequence[str]) -> dict[str, Any]:
    """The event with which the ticker invokes one poller of several quiet shards."""
    return {"partitionIds": list(partition_ids)}


def _matched(method: str, path: str) -> tuple[str, dict[str, str]]:
    for key, pattern in _PATTERNS[method]:
        match = pattern.fullmatch(path)
        if match is not None:
            return key, match.groupdict()
    return NO_ROUTE, {}


def _patterns() -> Mapping[str, list[tuple[str, re.Pattern[str]]]]:
    """The routes of each method with the patterns of their paths: those with the fewest parameters first."""
    found: dict[str, list[tuple[str, re.Pattern[str]]]] = defaultdict(list)
    for route in sorted(ROUTES, key=lambda one: one.path.count("{")):
        pattern = re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>[^/]+)", re.escape(route.path))
        found[route.method].append((route.key, re.compile(pattern)))
    return found


_PATTERNS = _patterns()


def _identity(caller: str) -> dict[str, Any]:
    return {
        "accessKey": "ASIAIOSFODNN7EXAMPLE",
        "accountId": caller.split(":")[4],
        "callerId": "AIDACKCEVSQ6C2EXAMPLE",
        "cognitoIdentity": None,
        "principalOrgId": "o-exampleorgid",
        "userArn": caller,
        "userId": "AIDACKCEVSQ6C2EXAMPLE",
    }


def _record(message_id: str, body: str) -> dict[str, Any]:
    return {
        "messageId": message_id,
        "receiptHandle": "AQEBwJnKyrHigUMZj6rYigCgxlaS3SLy0a",
        "body": body,
        "attributes": {
            "ApproximateReceiveCount": "1",
            "SentTimestamp": str(NOW),
            "SenderId": "AIDAIENQZJOLO23YVJ4VO",
            "ApproximateFirstReceiveTimestamp": str(NOW + 2),
        },
        "messageAttributes": {},
        "md5OfBody": hashlib.md5(body.encode(), usedforsecurity=False).hexdigest(),
        "eventSource": "aws:sqs",
        "eventSourceARN": f"arn:aws:sqs:{REGION}:111111111111:Release",
        "awsRegion": REGION,
    }


def encoded(value: Any) -> str:
    """A body as clients send it."""
    return json.dumps(value, ensure_ascii=False)
