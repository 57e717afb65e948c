"""Webhooks: the headers and signature of an HTTP delivery, and the meaning of the target's answer.

Deliveries are signed as Standard Webhooks 1.0 says:
https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Collection, Sequence
from email.utils import parsedate_to_datetime

from clockwork.domain.instants import EPOCH, MILLISECOND, to_text
from clockwork.targets.message import Message

#: The longest wait that a target may ask for.
LONGEST_RETRY_AFTER_SECONDS = 86_400
#: The statuses below 500 after which a repeat may succeed: Request Timeout, Too Early, Too Many Requests (RFC 9110,
#: 8470, 6585).
_TRANSIENT = frozenset({408, 425, 429})
#: Gone (RFC 9110 15.5.11) is permanent, even if a retry policy lists it.
GONE = 410
_BASE64_PREFIX = "whsec_"


class InvalidSecret(ValueError):
    """The signing secret holds no key. The message says why, and never holds the secret."""


def headers_for(message: Message, sent_at: int, secrets: Sequence[str]) -> dict[str, str]:
    """The headers that identify a delivery, sent at `sent_at` (ms), to its receiver, and prove who sent it.

    An attempt that was to start later than the due instant says when: a retry, a redrive, a backfilled fire.
    The token of an attempt that ends by callback is one of them. There is one signature per secret, so that a receiver
    may hold either secret during a rotation. Without secrets there is no signature. Raises InvalidSecret.
    """
    timestamp = str(sent_at // 1000)
    headers = {
        "webhook-id": message.execution_id,
        "webhook-timestamp": timestamp,
        "clockwork-job-id": message.job_id,
        "clockwork-attempt": str(message.attempt),
        "clockwork-due-at": to_text(message.due_at),
    }
    if message.run_at is not None and message.run_at > message.due_at:
        headers["clockwork-run-at"] = to_text(message.run_at)
    if message.run is not None and message.node is not None:
        headers |= {"clockwork-run": message.run, "clockwork-node": message.node}
    if message.token is not None:
        headers["clockwork-token"] = message.token
    if secrets:
        signed = f"{message.execution_id}.{timestamp}.".encode() + message.payload.body
        headers["webhook-signature"] = " ".join(_signature(key_of(secret), signed) for secret in secrets)
    return headers


def key_of(secret: str) -> bytes:
    """The HMAC key of a secret: of `whsec_` and base64, as the specification has it, or of any other text its bytes.

    Raises InvalidSecret.
    """
    try:
        is_base64 = secret.startswith(_BASE64_PREFIX)
        key = base64.b64decode(secret.removeprefix(_BASE64_PREFIX), validate=True) if is_base64 else secret.encode()
    except ValueError:
        raise InvalidSecret("is not base64 after whsec_") from None
    if not key:
        raise InvalidSecret("is empty")
    return key


def is_success(status: int) -> bool:
    """Whether an answer with this status means that the target accepted the webhook."""
    return 200 <= status < 300


def is_permanent(status: int, listed: Collection[int] = ()) -> bool:
    """Whether an answer with this status means that a repeat would fail in the same way.

    Statuses in `listed` are tried again, except 410 Gone.
    """
    return 300 <= status < 500 and (status == GONE or status not in _TRANSIENT.union(listed))


def retry_after_seconds(value: str | None, now: int) -> float | None:
    """The wait (s) that a Retry-After header asks for, 0 to a day; None if there is none or it is unreadable.

    The header holds seconds or a date (RFC 9110 10.2.3).
    """
    if value is None:
        return None
    text = value.strip()
    try:
        seconds = int(text) if text.isdigit() else (_from_http_date(text) - now) / 1000
    except (ValueError, OverflowError):
        return None
    return float(min(max(seconds, 0), LONGEST_RETRY_AFTER_SECONDS))


def _from_http_date(text: str) -> int:
    moment = parsedate_to_datetime(text)
    if moment.tzinfo is None:
        raise ValueError("a date without a time zone")
    return (moment - EPOCH) // MILLISECOND


def _signature(key: bytes, signed: bytes) -> str:
    return "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
