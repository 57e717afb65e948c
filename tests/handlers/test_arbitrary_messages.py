"""Arbitrary messages and tokens: each message is carried out, rejected with the reason, or left where it is."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from clockwork.domain.ids import encode_part
from clockwork.domain.storage.codec import encode_release
from clockwork.flows.deliver.deliver import deliver_batch
from clockwork.flows.deliver.inbox import Message
from clockwork.flows.deliver.ordered import OrderedMessage, deliver_ordered
from clockwork.flows.sweep.dead_letters import sweep_dead_letters
from clockwork.memory.world import MemoryClockwork
from tests.handlers.handlers import CONTEXT, Api, job_body
from tests.handlers.test_arbitrary_input import never_our_fault, values
from tests.handlers.test_ingester import Ingester
from tests.support.events import http_event
from tests.support.examples import ACME, ALICE, release
from tests.support.searches import drawn

pytestmark = pytest.mark.long

quick = settings(max_examples=drawn(120), deadline=None)
INGESTER = Ingester()
GOOD = base64.b64decode(encode_release(release()))
BODIES = st.text(max_size=60) | st.binary(max_size=60).map(lambda raw: base64.b64encode(raw).decode())


@quick
@given(st.lists(st.text(max_size=60), min_size=1, max_size=3))
@example(["", "\x00", "{"])
def test_any_text_in_the_ingestion_queue_is_done_or_rejected(bodies: list[str]) -> None:
    assert INGESTER.take(*bodies) == []


@quick
@given(
    op=st.sampled_from(["create", "cancel", "?"]),
    fields=st.dictionaries(st.sampled_from(["clientId", "job", "jobId", "jobKey", "idempotencyKey"]), values),
    name=st.sampled_from(sorted(job_body())),
    value=values,
)
def test_any_json_in_the_ingestion_queue_is_done_or_rejected(
    op: str, fields: dict[str, Any], name: str, value: Any
) -> None:
    message = {"op": op, "clientId": ACME.client_id, "job": job_body(**{name: value})}
    assert INGESTER.take(json.dumps({**message, **fields}), json.dumps(message)) == []


@quick
@given(st.lists(st.none() | st.binary(max_size=60), min_size=1, max_size=3))
def test_any_bytes_in_a_topic_are_done_or_rejected(bodies: list[bytes | None]) -> None:
    records = [
        {"topic": "jobs", "partition": 0, "offset": offset}
        | ({} if body is None else {"value": base64.b64encode(body).decode()})
        for offset, body in enumerate(bodies)
    ]
    event = {"eventSource": "aws:kafka", "eventSourceArn": "arn", "records": {"jobs-0": records}}
    assert INGESTER.handle(event, CONTEXT) == {"batchItemFailures": []}


@quick
@given(BODIES, st.integers(0, len(GOOD)), st.binary(max_size=8))
def test_a_message_that_nobody_can_read_comes_back_alone(body: str, place: int, raw: bytes) -> None:
    clockwork = MemoryClockwork()
    clockwork.clients.put(ACME)
    broken = base64.b64encode(GOOD[:place] + raw).decode()
    messages = [Message("any", body, 1), Message("broken", broken, 1), Message("good", encode_release(release()), 1)]
    deadline_at = clockwork.clock.now() + 20_000
    report = deliver_batch(clockwork.world, messages, deadline_at)
    assert "good" not in report.failed_messages
    assert report.succeeded >= 1
    ordered = [
        OrderedMessage(m.message_id, m.body, 1, receipt=m.message_id, group=m.message_id, sent_at=clockwork.clock.at)
        for m in messages
    ]
    assert "good" not in deliver_ordered(clockwork.world, ordered, deadline_at).failed_messages


@quick
@given(st.lists(BODIES, min_size=1, max_size=3))
def test_dead_letters_that_nobody_can_read_are_kept_and_stop_no_sweep(bodies: list[str]) -> None:
    clockwork = MemoryClockwork()
    clockwork.clients.put(ACME)
    clockwork.queue.dead = {}
    for body in (*bodies, encode_release(release())):
        message_id = clockwork.queue.put(body)
        clockwork.queue.dead[message_id] = clockwork.queue.messages.pop(message_id)
    sweep_dead_letters(clockwork.world, clockwork.clock.now() + 60_000)
    kept = {letter.body for letter in clockwork.queue.dead.values()}
    assert encode_release(release()) not in kept
    assert kept <= set(bodies)


@quick
@given(body=st.binary(max_size=60) | st.builds(json.dumps, values))
def test_any_body_of_a_cancel_in_the_original_format_is_answered(body: bytes | str) -> None:
    never_our_fault(http_event("DELETE", "/schedule", body, caller=ALICE))


@quick
@given(token=st.text(max_size=40) | st.text(max_size=40).map(lambda text: encode_part(text.encode("utf-8", "replace"))))
@example(encode_part(b"0" * 3_000 + b"1700000000000#aa.1700000000000.0"))
@example(encode_part(b" 1700000000000#aa.1700000000000.0"))
def test_any_text_as_a_token_of_the_dead_is_answered(token: str) -> None:
    never_our_fault(http_event("GET", "/v1/clients/acme/dead", caller=ALICE, query={"nextToken": token}))
    for what in ("redrive", "discard"):
        body = json.dumps({"nextToken": token})
        never_our_fault(http_event("POST", f"/v1/clients/acme/dead/{what}", body, caller=ALICE))


def test_a_token_of_the_dead_that_no_list_has_given_is_refused() -> None:
    for place in (b"0" * 3_000 + b"1700000000000#aa.1700000000000.0", b" 1700000000000#aa.1700000000000.0"):
        query = {"nextToken": encode_part(place)}
        assert Api().call("GET", "/v1/clients/acme/dead", query=query).status == 422
