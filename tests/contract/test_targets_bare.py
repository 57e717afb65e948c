"""Payloads that arrive at services of AWS without an envelope, and the ids where there is a place for them."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from clockwork.targets.message import Message, Payload
from clockwork.targets.service import ServiceTarget, Undeliverable
from tests.contract.service_targets import EXAMPLES

FIELD = {"lambda": "Payload", "eventbridge": "Detail", "kinesis": "Data", "stepFunctions": "input"}
ENVELOPED = [one.target for one in EXAMPLES.values() if one.target.is_enveloped]
OTHERS = [one.target for one in EXAMPLES.values() if not one.target.is_enveloped]


def tag_of(target: ServiceTarget) -> str:
    return str(target.__struct_config__.tag)


def entry(target: ServiceTarget, envelope: bool | None, payload: Payload) -> dict[str, Any]:
    asked: Any = msgspec.structs.replace(target, envelope=envelope)
    return dict(asked.entry(Message("ajob.1777975200250.0", "ajob", 1, 1_777_975_200_250, payload)))


def test_those_with_an_envelope_are_these() -> None:
    assert {tag_of(one) for one in ENVELOPED} == {*FIELD}
    assert {tag_of(one) for one in OTHERS} == {"sqs", "sns", "ecs"}


@pytest.mark.parametrize("target", ENVELOPED, ids=tag_of)
def test_the_payload_arrives_as_it_was_given(target: ServiceTarget) -> None:
    payload = Payload(b'{"n":[1,"x"]}')
    sent = entry(target, False, payload)[FIELD[tag_of(target)]]
    assert (sent if isinstance(sent, bytes) else sent.encode()) == payload.body


@pytest.mark.parametrize("envelope", [None, True])
@pytest.mark.parametrize("target", ENVELOPED, ids=tag_of)
def test_the_envelope_stays_unless_a_job_asks_for_none(target: ServiceTarget, envelope: bool | None) -> None:
    sent = entry(target, envelope, Payload(b'{"n":1}'))[FIELD[tag_of(target)]]
    assert b'"executionId":"ajob.' in (sent if isinstance(sent, bytes) else sent.encode())


@pytest.mark.parametrize("target", OTHERS, ids=tag_of)
def test_where_the_ids_have_a_place_of_their_own_nothing_changes(target: ServiceTarget) -> None:
    payload = Payload(b'{"n":1}')
    assert entry(target, False, payload) == entry(target, None, payload)
    assert "ajob.1777975200250.0" in str(entry(target, False, payload))


def test_a_text_is_the_record_of_a_stream_and_a_json_string_elsewhere() -> None:
    text = Payload('say "grüße"'.encode(), is_text=True)
    targets = {tag_of(one): one for one in ENVELOPED if tag_of(one) != "eventbridge"}
    sent = {tag: entry(one, False, text)[FIELD[tag]] for tag, one in targets.items()}
    quoted = '"say \\"grüße\\""'
    assert sent == {"kinesis": text.body, "lambda": quoted.encode(), "stepFunctions": quoted}


@pytest.mark.parametrize("payload", [Payload(b"7"), Payload(b'{"a":1}', is_text=True), Payload(b"null")])
def test_an_event_whose_payload_is_no_object_is_not_sent(payload: Payload) -> None:
    (bus,) = [one for one in ENVELOPED if tag_of(one) == "eventbridge"]
    with pytest.raises(Undeliverable, match="must be an object"):
        entry(bus, False, payload)
