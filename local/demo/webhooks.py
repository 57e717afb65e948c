"""A webhook receiver as a customer would run one: it verifies signatures and, where asked to, fails at first."""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Mapping

from local.demo.arrivals import Arrival, Arrivals
from local.demo.plan import FAILURES, Channel
from local.receiver import Answer, Post, Receiver

STEADY_PATH = "/hook"
FLAKY_PATH = "/flaky"
#: Standard Webhooks asks receivers to refuse webhooks that are a few minutes too old or too new.
TOLERANCE_SECONDS = 300


def fault_of(headers: Mapping[str, str], body: bytes, key: bytes, now: float) -> str | None:
    """Why a request is no genuine Standard Webhook of `key` at `now` (epoch seconds); None if it is one.

    https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
    """
    webhook_id, timestamp = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not timestamp.isdecimal() or abs(now - int(timestamp)) > TOLERANCE_SECONDS:
        return "its timestamp is missing or too far from now"
    signed = f"{webhook_id}.{timestamp}.".encode() + body
    expected = "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    given = headers.get("webhook-signature", "").split()
    if not any(hmac.compare_digest(expected.encode(), one.encode()) for one in given):
        return "its signature is missing or wrong"
    return None


def status_for(path: str, fault: str | None, earlier: int) -> int:
    """The status for a delivery after `earlier` attempts. 401: not genuine; 503: a failure; 200: accepted."""
    if fault is not None:
        return 401
    return 503 if path == FLAKY_PATH and earlier < FAILURES else 200


class Webhooks(Receiver):
    """Judges each delivery by `key`, the secret that deliveries are signed with, and keeps it in `arrivals`."""

    def __init__(self, key: bytes, arrivals: Arrivals) -> None:
        super().__init__()
        self._key = key
        self._arrivals = arrivals

    def answer(self, post: Post) -> Answer:
        """Judge, keep and answer."""
        execution_id = post.headers.get("webhook-id", "")
        fault = fault_of(post.headers, post.body, self._key, post.at / 1000)
        status = status_for(post.path, fault, len(self._arrivals.of(execution_id)))
        self._arrivals.add(Arrival(execution_id, int(post.at), Channel.WEBHOOK, status == 200, fault or ""))
        return Answer(status)
