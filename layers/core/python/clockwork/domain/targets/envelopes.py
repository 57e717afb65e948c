"""Envelopes: one JSON object of an attempt's facts and its payload, for targets without headers or attributes."""

from __future__ import annotations

import json

from clockwork.domain.instants import to_text
from clockwork.domain.jobs import Payload
from clockwork.domain.releases import Delivery


def envelope_of(delivery: Delivery) -> bytes:
    """`{"executionId", "jobId", "attempt", "dueAt", "payload"}` in UTF-8, with the payload as a JSON value.

    An attempt that ends by callback has its `token` besides.
    """
    facts = {
        "executionId": delivery.execution_id,
        "jobId": delivery.job_id,
        "attempt": delivery.attempt,
        "dueAt": to_text(delivery.occurrence.due_at),
    }
    if delivery.token is not None:
        facts["token"] = delivery.token
    head = json.dumps(facts, separators=(",", ":"))[:-1].encode()
    return head + b',"payload":' + json_of(delivery.occurrence.payload) + b"}"


def json_of(payload: Payload) -> bytes:
    """The payload as a JSON value. A text becomes a JSON string, escaped as needed."""
    return json.dumps(payload.body.decode(), ensure_ascii=False).encode() if payload.is_text else payload.body
