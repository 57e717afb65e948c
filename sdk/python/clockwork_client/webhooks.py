"""For receivers: checks that a request is Clockwork's, and reads its job and execution.

The signatures follow Standard Webhooks 1.0.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import NamedTuple

from clockwork_client.answers import instant
from clockwork_client.errors import InvalidWebhook

_PREFIX = "whsec_"
#: A sender signs once for each secret, and has two of them during a rotation. No more than these are compared.
_MOST_SIGNATURES = 16


class ScheduledContext(NamedTuple):
    """The facts of a delivery. `execution_id` is the same over all attempts: use it to recognise a repeat.

    `token`: under which to report, if the attempt ends by callback. `run` and `node`: of a workflow's node, the
    executionId of its run and its name. `run_at`: when this attempt was to start, if that is later than `due_at`, as of
    a retry, a redrive or a backfilled fire.
    """

    execution_id: str
    job_id: str
    attempt: int
    due_at: datetime
    token: str | None = None
    run: str | None = None
    node: str | None = None
    run_at: datetime | None = None

    def __repr__(self) -> str:
        """Without the token: it must not reach a log."""
        told = f"{self.execution_id!r}, {self.job_id!r}, {self.attempt}, {self.due_at!r}"
        place = f", run={self.run!r}, node={self.node!r}" if self.node else ""
        return f"ScheduledContext({told}{', token=...' if self.token else ''}{place})"


def scheduled_context(headers: Mapping[str, str]) -> ScheduledContext:
    """The facts in the headers of a webhook, in upper or lower case.

    Raises InvalidWebhook if one is missing or unreadable. The headers prove nothing about the sender: call
    `verify_webhook` for a proof.
    """
    found = _lower(headers)
    try:
        return ScheduledContext(
            found["webhook-id"],
            found["clockwork-job-id"],
            _number(found["clockwork-attempt"]),
            instant(found["clockwork-due-at"]),
            found.get("clockwork-token"),
            found.get("clockwork-run"),
            found.get("clockwork-node"),
            instant(found["clockwork-run-at"]) if "clockwork-run-at" in found else None,
        )
    except KeyError as error:
        raise InvalidWebhook(f"the header {error.args[0]} is missing") from None
    except ValueError as error:
        raise InvalidWebhook(f"a header of the delivery cannot be read: {error}") from None


def verify_webhook(
    headers: Mapping[str, str],
    body: bytes | str,
    secrets: Iterable[str],
    *,
    tolerance_seconds: float = 300,
    now: float | None = None,
) -> ScheduledContext:
    """The facts of a webhook that one of the `secrets` signed, over the `body` exactly as it came in.

    Raises InvalidWebhook when no signature fits, or when it was signed more than `tolerance_seconds` before or after
    `now` (epoch seconds, the machine's clock unless given): somebody may send an old one again. Raises ValueError for
    a secret that holds no key. Only the `execution_id` and the body are signed, not the other facts.
    """
    import base64
    import hmac

    found = _lower(headers)
    missing = [one for one in ("webhook-id", "webhook-timestamp", "webhook-signature") if one not in found]
    if missing:
        raise InvalidWebhook(f"the header {missing[0]} is missing")
    stamp = found["webhook-timestamp"]
    try:
        age = (time.time() if now is None else now) - _number(stamp)
    except ValueError:
        raise InvalidWebhook("the header webhook-timestamp is no number of seconds") from None
    if abs(age) > tolerance_seconds:
        raise InvalidWebhook(
            f"it was signed {age:.0f} s ago, {tolerance_seconds:.0f} s are allowed: an old one, or a clock"
        )
    content = body.encode() if isinstance(body, str) else body
    signed = f"{found['webhook-id']}.{stamp}.".encode() + content
    given = [one.encode() for one in found["webhook-signature"].split(" ", _MOST_SIGNATURES)[:_MOST_SIGNATURES]]
    keys = [_key_of(secret) for secret in ([secrets] if isinstance(secrets, str) else secrets)]
    if not keys:
        raise ValueError("no secrets to verify with")
    wanted = [b"v1," + base64.b64encode(hmac.digest(key, signed, "sha256")) for key in keys]
    # No early end: the time tells nothing of which secret or signature was close.
    if not sum(hmac.compare_digest(one, other) for one in wanted for other in given):
        raise InvalidWebhook(
            "no signature fits: another secret, or the body was changed (it must be the bytes as sent)"
        )
    return scheduled_context(found)


def _lower(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}


def _number(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 16):
        raise ValueError(f"{text[:20]!r} is no number")
    return int(text)


def _key_of(secret: str) -> bytes:
    """The key of a secret: base64 after `whsec_`, or else the bytes of the text. As the sender reads it."""
    import base64

    try:
        is_base64 = secret.startswith(_PREFIX)
        key = base64.b64decode(secret[len(_PREFIX) :], validate=True) if is_base64 else secret.encode()
    except ValueError:
        raise ValueError("a signing secret is not base64 after whsec_") from None
    if not key:
        raise ValueError("a signing secret is empty")
    return key
