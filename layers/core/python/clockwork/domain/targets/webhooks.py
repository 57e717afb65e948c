"""Webhooks: what an HTTP delivery carries, and what the answer to it means.

Signed as Standard Webhooks 1.0 says: https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Collection, Sequence
from email.utils import parsedate_to_datetime

from clockwork.domain.instants import EPOCH, MILLISECOND, to_text
from clockwork.domain.releases import Delivery

#: A target may ask for at most this much patience.
LONGEST_RETRY_AFTER_SECONDS = 86_400
#: Below 500, a repeat may succeed after Request Timeout, Too Early, Too Many Requests (RFC 9110, 8470, 6585).
_TRANSIENT = frozenset({408, 425, 429})
#: Gone for good (RFC 9110 15.5.11), whatever a policy lists.
GONE = 410
_BASE64_PREFIX = "whsec_"


class InvalidSecret(ValueError):
    """A signing secret that no key can be read from. The message never holds the secret."""


def headers_for(delivery: Delivery, sent_at: int, secrets: Sequence[str]) -> dict[str, str]:
    """The headers that tell the receiver what this is and prove who sent it, at `sent_at` (ms).

    One signature per secret, so that a receiver may hold either during a rotation; no signature without secrets.
    Raises InvalidSecret.
    """
    timestamp = str(sent_at // 1000)
    headers = {
        "webhook-id": delivery.execution_id,
        "webhook-timestamp": timestamp,
        "clockwork-job-id": delivery.job_id,
        "clockwork-attempt": str(delivery.attempt),
        "clockwork-due-at": to_text(delivery.occurrence.due_at),
    }
    if secrets:
        signed = f"{delivery.execution_id}.{timestamp}.".encode() + delivery.occurrence.payload.body
        headers["webhook-signature"] = " ".join(_signature(key_of(secret), signed) for secret in secrets)
    return headers


def key_of(secret: str) -> bytes:
    """The HMAC key: `whsec_` and base64 as the specification has it, or any other text as its own bytes."""
    try:
        is_base64 = secret.startswith(_BASE64_PREFIX)
        key = base64.b64decode(secret.removeprefix(_BASE64_PREFIX), validate=True) if is_base64 else secret.encode()
    except ValueError:
        raise InvalidSecret("is not base64 after whsec_") from None
    if not key:
        raise InvalidSecret("is empty")
    return key


def is_success(status: int) -> bool:
    """The answer with this status means that the webhook was accepted."""
    return 200 <= status < 300


def is_permanent(status: int, listed: Collection[int] = ()) -> bool:
    """The answer with this status means that a repeat would fail in the same way. `listed` ones are tried again."""
    return 300 <= status < 500 and (status == GONE or status not in _TRANSIENT.union(listed))


def retry_after_seconds(value: str | None, now: int) -> float | None:
    """What a Retry-After header asks for (RFC 9110 10.2.3: seconds or a date), 0 to a day; None if it is unreadable."""
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
