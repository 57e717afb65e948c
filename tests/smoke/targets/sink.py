"""The function behind webhooks and `lambda` targets: it says in a queue what came, and answers as its path asks.

This file is the code of a Lambda, as text, in an account and in the emulator: it may import only what both have.
"""

from __future__ import annotations

import json
import os
import time
from typing import Any

import botocore.session

_sqs: Any = botocore.session.Session().create_client("sqs") if "HEARD" in os.environ else None


def handler(event: dict[str, Any], context: object) -> dict[str, Any]:
    """An HTTP request (event 2.0), or the envelope of a `lambda` target."""
    heard = from_web(event) if "requestContext" in event else from_lambda(event)
    if heard is None:
        return {"statusCode": 404}
    _sqs.send_message(QueueUrl=os.environ["HEARD"], MessageBody=json.dumps(heard))
    return {"statusCode": heard["status"]}


def from_web(event: dict[str, Any]) -> dict[str, Any] | None:
    """The delivery by a webhook; None unless its path begins with the token: anybody may call this address."""
    token, _, path = event["rawPath"].strip("/").partition("/")
    if token != os.environ["TOKEN"]:
        return None
    headers = event["headers"]
    attempt = int(headers["clockwork-attempt"])
    return {
        "origin": "http",
        "jobId": headers["clockwork-job-id"],
        "dueAt": headers["clockwork-due-at"],
        "attempt": attempt,
        "at": event["requestContext"]["timeEpoch"],
        "status": 503 if path == "flaky" and attempt == 1 else 200,
    }


def from_lambda(event: dict[str, Any]) -> dict[str, Any]:
    """The delivery by an invocation."""
    facts = {name: event[name] for name in ("jobId", "dueAt", "attempt")}
    return {"origin": "lambda", "at": time.time_ns() // 1_000_000, "status": 200, **facts}
