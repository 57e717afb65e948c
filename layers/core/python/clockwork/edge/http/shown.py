"""A refusal shows more than a fault: a value that the field takes, or the known name that an unknown name is like."""

from __future__ import annotations

import json
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

#: The most characters of an unknown name that is compared with the known ones. They are shorter.
LONGEST_COMPARED = 64

_ACCOUNT = "us-east-1:123456789012"
_TICKET = {"claimId": "claim-id-of-a-worker-1", "ticket": "{}", "receiptHandle": "AQEB"}
#: Names of fields that must be there, and of others that are often given in another form.
VALUES: dict[str, Any] = {
    "at": "2026-05-05T10:00:00.250Z",
    "busArn": f"arn:aws:events:{_ACCOUNT}:event-bus/orders",
    "claims": [_TICKET],
    **_TICKET,
    "clientId": "acme",
    "clusterArn": f"arn:aws:ecs:{_ACCOUNT}:cluster/shop",
    "container": "app",
    "count": 1,
    "cron": "0 3 * * *",
    "delaySeconds": 30,
    "delivery": {"topic": "orders"},
    "detailType": "order due",
    "error": "the invoice has no lines",
    "every": {"seconds": 3600},
    "exclude": ["2026-12-25"],
    "from": "2026-05-01T00:00:00Z",
    "functionArn": f"arn:aws:lambda:{_ACCOUNT}:function:orders",
    "handler": "generate_invoices",
    "handlers": ["generate_invoices"],
    "headers": {"x-shop": "7"},
    "heartbeats": [{"token": "..."}],
    "held": {},
    "jobKey": "daily-invoice",
    "jobs": [{"schedule": {"delaySeconds": 30}, "target": {"type": "http", "url": "https://example.com/hook"}}],
    "kind": "redriveDead",
    "maxPerSecond": 5,
    "mode": "callback",
    "nodes": {"pay": {"target": {"type": "http", "url": "https://example.com/pay"}}},
    "orderingKey": "order-17",
    "outcome": "complete",
    "outcomes": [{"token": "...", "outcome": "complete"}],
    "pool": "etl",
    "principals": ["arn:aws:iam::123456789012:role/Billing"],
    "queueArn": f"arn:aws:sqs:{_ACCOUNT}:orders",
    "retryPolicy": {"maxAttempts": 3},
    "schedule": {"delaySeconds": 30},
    "scheduleKey": "order1-create",
    "scheduleTime": 1_893_456_000_000,
    "seconds": 3600,
    "sequence": 1,
    "source": "shop",
    "stateMachineArn": f"arn:aws:states:{_ACCOUNT}:stateMachine:orders",
    "streamArn": f"arn:aws:kinesis:{_ACCOUNT}:stream/orders",
    "tags": {"team": "billing"},
    "target": {"type": "http", "url": "https://example.com/hook"},
    "taskData": "payload",
    "taskDefinitionArn": f"arn:aws:ecs:{_ACCOUNT}:task-definition/orders:1",
    "timezone": "Europe/Berlin",
    "to": "2026-05-03T00:00:00Z",
    "token": "as the attempt's delivery brought it",
    "topic": "orders",
    "topicArn": f"arn:aws:sns:{_ACCOUNT}:orders",
    "type": "http",
    "url": "https://example.com/hook",
    "value": {"done": 40},
    "workerId": "host-1-abc",
}


def for_example(name: str) -> str:
    """The end of a refusal, with a value for the field of this name; empty if none is known."""
    return f", for example {json.dumps(VALUES[name])}" if name in VALUES else ""


def meant_by(name: str, known: Sequence[str]) -> str:
    """The end of a refusal of an unknown name, with the known one that is most like it; empty if none is."""
    if len(name) > LONGEST_COMPARED:
        return ""
    alike = get_close_matches(name, known, n=1)
    return f": did you mean {alike[0]}?" if alike else ""
