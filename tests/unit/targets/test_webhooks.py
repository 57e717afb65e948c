"""Webhooks: their headers, checked with the library that receivers use, and the meaning of the receiver's answer."""

from __future__ import annotations

import base64
import time

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from standardwebhooks import Webhook, WebhookVerificationError

from clockwork.domain.jobs import Occurrence
from clockwork.domain.releases import Delivery
from clockwork.targets.http import HttpTarget
from clockwork.targets.message import Payload
from clockwork.targets.web.webhooks import InvalidSecret, headers_for, is_permanent, is_success, retry_after_seconds

KEY = b"thirty-two bytes of test secret!"
SECRET = "whsec_" + base64.b64encode(KEY).decode()
FORMER = "whsec_" + base64.b64encode(b"the former secret").decode()
DUE_AT = 1_777_975_200_250
NOON = 1_792_065_600_000  # Thu, 15 Oct 2026 12:00:00 GMT


def delivery(body: bytes = b'{"n":1}') -> Delivery:
    occurrence = Occurrence("acme", DUE_AT, DUE_AT, HttpTarget("https://example.com/"), Payload(body))
    return Delivery("ajob.1777975200250.0", "ajob", 2, occurrence, DUE_AT + 60_000)


def now() -> int:
    return time.time_ns() // 1_000_000


def test_the_facts_travel_as_headers() -> None:
    assert headers_for(delivery().message, DUE_AT + 999, ()) == {
        "webhook-id": "ajob.1777975200250.0",
        "webhook-timestamp": "1777975201",
        "clockwork-job-id": "ajob",
        "clockwork-attempt": "2",
        "clockwork-due-at": "2026-05-05T10:00:00.250Z",
    }


def test_an_attempt_that_was_to_start_later_than_the_due_instant_says_when() -> None:
    def told(run_at: int | None) -> str | None:
        later = msgspec.structs.replace(delivery(), run_at=run_at)
        return headers_for(later.message, DUE_AT, ()).get("clockwork-run-at")

    assert [told(None), told(DUE_AT - 1), told(DUE_AT)] == [None] * 3
    assert told(DUE_AT + 5_000) == "2026-05-05T10:00:05.250Z"


@pytest.mark.parametrize("body", [b'{"n":1}', '"grüße"'.encode(), b"null"])
def test_a_receiver_verifies_the_signature(body: bytes) -> None:
    assert Webhook(SECRET).verify(body, headers_for(delivery(body).message, now(), [SECRET])) is not False


def test_the_known_vector_of_the_specification_is_reproduced() -> None:
    occurrence = Occurrence("acme", 0, 0, HttpTarget("https://example.com/"), Payload(b'{"test": 2432232314}'))
    vector = Delivery("msg_p5jXN8AQM9LWM0D4loKWxJek", "ajob", 1, occurrence, 0)
    headers = headers_for(vector.message, 1_614_265_330_000, ["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"])
    assert headers["webhook-signature"] == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_during_a_rotation_either_secret_verifies() -> None:
    headers = headers_for(delivery().message, now(), [SECRET, FORMER])
    assert len(headers["webhook-signature"].split(" ")) == 2
    for secret in (SECRET, FORMER):
        assert Webhook(secret).verify(b'{"n":1}', headers) == {"n": 1}


def test_a_secret_without_the_prefix_is_its_own_bytes() -> None:
    headers = headers_for(delivery().message, now(), [KEY.decode()])
    assert Webhook(KEY).verify(b'{"n":1}', headers) == {"n": 1}


@pytest.mark.parametrize("changed", ["webhook-id", "webhook-timestamp", "body", "secret"])
def test_whatever_is_changed_on_the_way_breaks_the_signature(changed: str) -> None:
    sent_at = now()
    headers = headers_for(delivery().message, sent_at, [SECRET])
    body = b'{"n":2}' if changed == "body" else b'{"n":1}'
    if changed == "webhook-id":
        headers["webhook-id"] += "x"
    if changed == "webhook-timestamp":
        headers["webhook-timestamp"] = str(sent_at // 1000 + 1)
    with pytest.raises(WebhookVerificationError):
        Webhook(FORMER if changed == "secret" else SECRET).verify(body, headers)


@pytest.mark.parametrize("secret", ["whsec_not base64!", "whsec_abc", "whsec_", ""])
def test_a_secret_that_is_no_key_is_named_and_not_told(secret: str) -> None:
    with pytest.raises(InvalidSecret) as raised:
        headers_for(delivery().message, now(), [secret])
    assert str(raised.value) in ("is not base64 after whsec_", "is empty")


def test_exactly_the_2xx_are_success() -> None:
    assert [status for status in range(100, 600) if is_success(status)] == list(range(200, 300))


def test_redirects_and_refusals_are_permanent_but_for_those_that_ask_to_wait() -> None:
    permanent = {status for status in range(100, 600) if is_permanent(status)}
    assert permanent == set(range(300, 500)) - {408, 425, 429}


def test_statuses_that_a_client_lists_are_tried_again_but_for_gone() -> None:
    again = {status for status in range(100, 600) if not is_permanent(status, (302, 404, 410, 500))}
    assert again == {*range(100, 300), 302, 404, 408, 425, 429, *range(500, 600)}


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (None, None),
        ("7", 7),
        (" 0 ", 0),
        ("86401", 86_400),
        ("9" * 400, 86_400),
        ("Thu, 15 Oct 2026 12:01:30 GMT", 90),
        ("Thu, 15 Oct 2026 11:00:00 GMT", 0),
        ("Fri, 15 Oct 2027 12:00:00 GMT", 86_400),
        ("Thu, 15 Oct 2026 12:01:30 -0000", None),
        ("-5", None),
        ("1.5", None),
        ("²", None),
        ("soon", None),
        ("", None),
    ],
)
def test_retry_after_is_bounded_to_a_day_and_ignored_if_unreadable(value: str | None, seconds: float | None) -> None:
    assert retry_after_seconds(value, NOON) == seconds


@given(st.one_of(st.text(), st.from_regex(r"[A-Za-z]{0,4},? ?[0-9A-Za-z:+ -]{0,40}", fullmatch=True)))
def test_no_text_in_retry_after_breaks_anything(value: str) -> None:
    seconds = retry_after_seconds(value, NOON)
    assert seconds is None or 0 <= seconds <= 86_400
