"""The demonstration's webhook receiver, against the product's own signatures."""

import base64
import time

import pytest
import urllib3

from clockwork.domain.jobs import Occurrence
from clockwork.domain.releases import Delivery
from clockwork.targets.http import HttpTarget
from clockwork.targets.message import Payload
from clockwork.targets.web.webhooks import headers_for
from local.demo.arrivals import Arrivals
from local.demo.webhooks import FLAKY_PATH, STEADY_PATH, TOLERANCE_SECONDS, Webhooks, fault_of, status_for

KEY = b"a key of the demonstration"
SECRET = "whsec_" + base64.b64encode(KEY).decode()
BODY = b'{"number":1}'
NOW = 1_777_975_200


def _headers(*, at: float = NOW, secrets: tuple[str, ...] = (SECRET,)) -> dict[str, str]:
    """The webhook headers that the product sends."""
    sent_at = int(at * 1000)
    occurrence = Occurrence("demo", sent_at, sent_at, HttpTarget("http://127.0.0.1:1/"), Payload(BODY))
    return headers_for(Delivery("a1.1.0", "a1", 1, occurrence, sent_at + 10_000).message, sent_at, secrets)


def test_what_the_product_signed_is_genuine() -> None:
    assert fault_of(_headers(), BODY, KEY, NOW) is None


def test_one_of_two_signatures_of_a_rotation_is_enough() -> None:
    assert fault_of(_headers(secrets=("another", SECRET)), BODY, KEY, NOW) is None


@pytest.mark.parametrize(
    ("headers", "body", "now"),
    [
        (_headers(), b'{"number":2}', NOW),
        (_headers() | {"webhook-id": "a2.1.0"}, BODY, NOW),
        (_headers() | {"webhook-timestamp": str(NOW + 1)}, BODY, NOW),
        (_headers(secrets=("another",)), BODY, NOW),
        (_headers(secrets=()), BODY, NOW),
    ],
    ids=["another body", "another id", "another timestamp", "another secret", "no signature"],
)
def test_what_was_changed_or_not_signed_is_refused(headers: dict[str, str], body: bytes, now: float) -> None:
    assert fault_of(headers, body, KEY, now) == "its signature is missing or wrong"


@pytest.mark.parametrize("off", [-TOLERANCE_SECONDS - 1, TOLERANCE_SECONDS + 1])
def test_what_was_sent_too_far_from_now_is_refused(off: int) -> None:
    assert fault_of(_headers(), BODY, KEY, NOW + off) == "its timestamp is missing or too far from now"


def test_no_timestamp_is_refused() -> None:
    assert fault_of({}, BODY, KEY, NOW) == "its timestamp is missing or too far from now"


@pytest.mark.parametrize(
    ("path", "fault", "earlier", "status"),
    [
        (STEADY_PATH, None, 0, 200),
        (FLAKY_PATH, None, 0, 503),
        (FLAKY_PATH, None, 1, 503),
        (FLAKY_PATH, None, 2, 200),
        (FLAKY_PATH, "forged", 2, 401),
        (STEADY_PATH, "forged", 0, 401),
    ],
)
def test_it_fails_where_it_is_asked_to_and_refuses_what_is_forged(
    path: str, fault: str | None, earlier: int, status: int
) -> None:
    assert status_for(path, fault, earlier) == status


def test_it_answers_over_http_and_keeps_what_arrived() -> None:
    arrivals, before = Arrivals(), int(time.time() * 1000)
    with Webhooks(KEY, arrivals) as server, urllib3.connection_from_url(f"http://{server.place}") as pool:
        genuine, forged = _headers(at=time.time()), _headers(at=time.time(), secrets=("another",))
        statuses = [
            pool.request("POST", path, body=BODY, headers=headers).status
            for path, headers in [(FLAKY_PATH, genuine), (FLAKY_PATH, genuine), (FLAKY_PATH, genuine), ("/", forged)]
        ]
    assert statuses == [503, 503, 200, 401]
    kept = arrivals.of("a1.1.0")
    assert [(one.accepted, bool(one.note)) for one in kept] == [(False, False)] * 2 + [(True, False), (False, True)]
    assert all(before <= one.at <= int(time.time() * 1000) for one in kept)
