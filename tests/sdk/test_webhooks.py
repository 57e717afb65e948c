"""Webhooks are verified against what the deliverer sends, and against the other implementation of the specification."""

from __future__ import annotations

import base64
import json
import os
import subprocess
from collections.abc import Mapping
from datetime import UTC, datetime

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from standardwebhooks import Webhook

from clockwork.domain.jobs import NodeOf
from clockwork.domain.releases import Delivery
from clockwork.targets.message import Payload
from clockwork.targets.web.webhooks import headers_for
from clockwork_client import InvalidWebhook, ScheduledContext, http, retry, scheduled_context, verify_webhook
from clockwork_client.testing import VirtualClockwork
from clockwork_client.transport import Request
from infra import ROOT
from tests.support.examples import NOW, occurrence, release
from tests.unit.test_docs import fenced

SECRET = "whsec_" + base64.b64encode(b"k" * 24).decode()
OTHER = "plain text of a secret"
SENT_AT = NOW + 1_500


def delivered(body: bytes, secrets: list[str]) -> tuple[Delivery, dict[str, str]]:
    """A delivery and the headers that the deliverer sends with it."""
    sending = release(occurrence=occurrence(payload=Payload(body)))
    delivery = Delivery(sending.execution_id, sending.job_id, 3, sending.occurrence, SENT_AT + 15_000)
    return delivery, headers_for(delivery.message, SENT_AT, secrets)


@given(body=st.binary(max_size=200), secrets=st.permutations([SECRET, OTHER]))
def test_what_the_deliverer_signs_is_verified(body: bytes, secrets: list[str]) -> None:
    delivery, headers = delivered(body, list(secrets))
    for held in ([SECRET], [OTHER], [OTHER, SECRET], ["unknown", SECRET]):
        found = verify_webhook(headers, body, held, now=SENT_AT / 1000)
        due = datetime.fromtimestamp(NOW / 1000, UTC)
        assert found == ScheduledContext(delivery.execution_id, delivery.job_id, 3, due)


def test_it_agrees_with_the_implementation_of_the_specification() -> None:
    _, headers = delivered(b'{"order":17}', [SECRET])
    sent_at = datetime.fromtimestamp(SENT_AT // 1000, UTC)
    signature = Webhook(SECRET).sign(headers["webhook-id"], sent_at, '{"order":17}')
    assert verify_webhook({**headers, "webhook-signature": signature}, '{"order":17}', SECRET, now=SENT_AT / 1000)


def test_no_token_reaches_a_log_with_what_has_it() -> None:
    delivery, _ = delivered(b"body of the job", [SECRET])
    token = f"{delivery.execution_id}.3.{'s' * 22}"
    delivery = msgspec.structs.replace(delivery, token=token)
    context = scheduled_context(headers_for(delivery.message, SENT_AT, [SECRET]))
    assert context.token == token
    request = Request("POST", "https://api.example.com/v1", {"authorization": "AWS4 s"}, token.encode(), 1)
    for shown in (f"{context}", f"{context!r}", repr([context]), repr(delivery), str(delivery), repr(request)):
        assert "s" * 22 not in shown and "body of the job" not in shown and "AWS4" not in shown
    assert context.execution_id in repr(context) and delivery.execution_id in repr(delivery)
    assert repr(context._replace(token=None)) == repr(context).replace(", token=...", "")


def test_a_node_of_a_workflow_is_told_with_its_run() -> None:
    delivery, _ = delivered(b"1", [])
    in_run = msgspec.structs.replace(delivery, node=NodeOf("the-run", "ship"))
    context = scheduled_context(headers_for(in_run.message, SENT_AT, []))
    assert (context.run, context.node) == ("the-run", "ship")
    assert repr(context).endswith(", run='the-run', node='ship')")


def test_a_retry_a_redrive_and_a_backfill_say_when_they_were_to_run_and_a_first_attempt_does_not() -> None:
    v = VirtualClockwork(at="2026-01-01T00:00:00Z")
    cw = v.client("acme")
    v.on_deliver(lambda one: 503 if len(v.deliveries) < 3 else 200)
    once = retry(max_attempts=2, backoff="fixed", initial_seconds=60, jitter="none")
    cw.schedule(http("https://example.com/"), at="2026-01-01T01:00:00Z", key="once", retry=once)
    v.advance(hours=2)
    cw.dead.redrive()
    v.advance(hours=1)
    daily = cw.schedule(http("https://example.com/"), cron="0 4 * * *", key="daily")
    cw.jobs.backfill(daily.job_id, "2025-12-31T00:00:00Z", "2025-12-31T05:00:00Z", max_per_second=1)
    v.advance(minutes=1)
    told = [scheduled_context(one.headers) for one in v.deliveries]
    assert [(one.attempt, one.run_at and f"{one.run_at:%H:%M}") for one in told] == [
        (1, None),
        (2, "01:01"),
        (3, "02:00"),
        (1, "03:00"),
    ]


def test_the_case_of_headers_does_not_matter() -> None:
    _, headers = delivered(b"1", [SECRET])
    loud = {name.upper(): value for name, value in headers.items()}
    assert verify_webhook(loud, b"1", [SECRET], now=SENT_AT / 1000) == scheduled_context(headers)


#: Changes of the headers of a delivery, and what is said of each.
FORGED: list[tuple[dict[str, str | None], str]] = [
    ({"webhook-id": "other"}, "no signature fits"),
    ({"webhook-timestamp": str(SENT_AT // 1000 + 1)}, "no signature fits"),
    ({"webhook-signature": ""}, "no signature fits"),
    ({"webhook-signature": "v1,"}, "no signature fits"),
    ({"webhook-signature": "v1a,AAAA v2,BBBB"}, "no signature fits"),
    ({"webhook-signature": "ü"}, "no signature fits"),
    ({"webhook-timestamp": "soon"}, "no number"),
    ({"webhook-timestamp": "-5"}, "no number"),
    ({"webhook-timestamp": "9" * 400}, "no number"),
    ({"webhook-timestamp": str(SENT_AT // 1000 - 301)}, "old one"),
    ({"webhook-timestamp": str(SENT_AT // 1000 + 302)}, "old one"),
    ({"webhook-id": None}, "webhook-id is missing"),
    ({"webhook-timestamp": None}, "webhook-timestamp is missing"),
    ({"webhook-signature": None}, "webhook-signature is missing"),
    ({"clockwork-job-id": None}, "clockwork-job-id is missing"),
    ({"clockwork-attempt": "x"}, "cannot be read"),
    ({"clockwork-due-at": "x"}, "cannot be read"),
]


@pytest.mark.parametrize(("change", "told"), FORGED)
def test_anything_else_is_refused(change: dict[str, str | None], told: str) -> None:
    _, headers = delivered(b"1", [SECRET])
    changed = {name: value for name, value in {**headers, **change}.items() if value is not None}
    with pytest.raises(InvalidWebhook, match=told):
        verify_webhook(changed, b"1", [SECRET], now=SENT_AT / 1000)


def test_a_changed_body_or_another_secret_is_refused() -> None:
    _, headers = delivered(b'{"n": 1}', [SECRET])
    for body, secret in ((b'{"n":1}', SECRET), (b'{"n": 1}', OTHER)):
        with pytest.raises(InvalidWebhook, match="no signature fits"):
            verify_webhook(headers, body, [secret], now=SENT_AT / 1000)


def test_a_flood_of_signatures_is_not_compared() -> None:
    _, headers = delivered(b"1", [SECRET])
    flood = "v1,AAAA " * 16 + headers["webhook-signature"]
    with pytest.raises(InvalidWebhook):
        verify_webhook({**headers, "webhook-signature": flood}, b"1", [SECRET], now=SENT_AT / 1000)


def test_the_receiver_in_node_of_the_page_takes_what_is_real_and_refuses_what_is_not() -> None:
    _, headers = delivered(b'{"n":1}', [OTHER, SECRET])  # during a rotation there are two signatures
    _, foreign = delivered(b'{"n":1}', [OTHER])
    # What only Clockwork's own headers say, the page's receiver does not read.
    forged: list[dict[str, str | None]] = [
        {**headers, **change} for change, _ in FORGED if not any("clockwork" in name for name in change)
    ]
    cases: list[tuple[Mapping[str, str | None], str]] = [
        (headers, '{"n":1}'),
        (headers, '{"n": 1}'),
        (foreign, '{"n":1}'),
        *((one, '{"n":1}') for one in forged),
    ]
    (page,) = fenced(ROOT / "docs/howto/webhooks.md", "js")
    program = page[: page.index("createServer((")].replace('import { createServer } from "node:http";', "")
    asked = f"""{program}
    Date.now = () => {SENT_AT};
    const cases = {json.dumps([({k: v for k, v in sent.items() if v is not None}, body) for sent, body in cases])};
    console.log(JSON.stringify(cases.map(([headers, body]) => isReal(headers, Buffer.from(body)))));
    """
    ran = subprocess.run(
        ["node", "--input-type=module", "-"],
        input=asked,
        env={**os.environ, "CLOCKWORK_WEBHOOK_SECRET": SECRET},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout) == [True] + [False] * (len(cases) - 1)
    assert len(forged) >= 14


@pytest.mark.parametrize("secrets", [[], ["whsec_"], [""], ["whsec_*"]])
def test_a_secret_without_a_key_is_the_receivers_fault(secrets: list[str]) -> None:
    _, headers = delivered(b"1", [SECRET])
    with pytest.raises(ValueError, match="secret"):
        verify_webhook(headers, b"1", secrets, now=SENT_AT / 1000)
