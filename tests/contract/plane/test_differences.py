"""Where the lean plane takes for no answer what botocore takes for one, since it could stand for "there is no item"."""

from __future__ import annotations

import json

import pytest

from clockwork.aws.errors import NoAnswer, ask
from clockwork.aws.plane.wire import connections
from tests.contract.plane.hostile import Behaviour, answer, half, raw, serving
from tests.contract.plane.planes import BOTOCORE, CALLS, LEAN, PATIENT, connected, outcome, told

pytestmark = pytest.mark.usefixtures("no_pauses_of_botocore")

DAMAGED = answer(200, {"Item": {"id": {"S": "b"}}}, crc=1)
#: The answers, what botocore makes of them, and what the lean plane raises.
LIES: dict[str, tuple[Behaviour, object, str]] = {
    "a sum that is wrong": (DAMAGED, {"Item": {"id": {"S": "b"}}}, "ChecksumError"),
    "no JSON": (answer(200, b'{"Item": {"id"'), {}, "ResponseParserError"),
    "nothing": (answer(200, b""), {}, "ResponseParserError"),
    "headers that break off": (half(answer(200, {"Item": {}}), 0.2), {}, "ResponseParserError"),
    "a list": (raw(b"HTTP/1.0 200 OK\r\n\r\n[]"), "AttributeError", "ResponseParserError"),
    "an item that is text": (raw(b'HTTP/1.0 200 OK\r\n\r\n{"Item": "x"}'), "AttributeError", "ResponseParserError"),
    "bytes that are no base64": (answer(200, {"Item": {"b": {"B": "*"}}}), None, "ResponseParserError"),
    "an error that is a list": (answer(400, []), "AttributeError", "ClientError"),
}


@pytest.mark.parametrize("name", LIES)
def test_an_answer_that_cannot_be_believed_is_none(name: str) -> None:
    behaviour, by_botocore, by_lean = LIES[name]
    with serving(rest=behaviour) as service:
        with connected(LEAN, service.url) as aws:
            raised = told(outcome(aws.plane("dynamodb", 3, PATIENT), "GetItem"))
            assert (raised[0] if isinstance(raised, tuple) else raised) == by_lean
        if by_botocore is not None:
            with connected(BOTOCORE, service.url) as aws:
                assert told(outcome(aws.plane("dynamodb", 3, PATIENT), "GetItem")) == by_botocore


@pytest.mark.parametrize("behaviour", [DAMAGED, answer(200, b"")])
def test_an_adapter_hears_that_there_was_no_answer(behaviour: Behaviour) -> None:
    with serving(rest=behaviour) as service, connected(LEAN, service.url) as aws, pytest.raises(NoAnswer):
        ask(aws.plane("dynamodb", 1, PATIENT).call, "GetItem", **CALLS["GetItem"][1])


def test_a_damaged_answer_is_asked_for_again_but_not_where_a_call_may_not_be_repeated() -> None:
    for attempts in (3, 1):
        with serving(rest=DAMAGED) as service, connected(LEAN, service.url) as aws:
            outcome(aws.plane("dynamodb", attempts, PATIENT), "GetItem")
            assert len(service.requests) == attempts


@pytest.mark.parametrize("length", ["said", "unsaid"])
def test_an_answer_without_end_is_not_read_to_its_end(length: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "MOST_BYTES", 1_000)
    said = b"Content-Length: 1001\r\n" if length == "said" else b""
    whole = raw(b"HTTP/1.1 200 OK\r\n" + said + b"\r\n", b'{"Item": {}}', b" " * 1_000)
    with serving(whole, answer(200, {})) as service, connected(LEAN, service.url) as aws:
        assert told(outcome(aws.plane("dynamodb", 1, PATIENT), "GetItem")) == "ConnectionClosedError"
        assert told(outcome(aws.plane("dynamodb", 1, PATIENT), "GetItem")) == {}


def test_an_answer_that_is_as_long_as_allowed_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    body = {"Item": {"id": {"S": "x" * 70_000}}}
    monkeypatch.setattr(connections, "MOST_BYTES", len(json.dumps(body)))
    with serving(answer(200, body)) as service, connected(LEAN, service.url) as aws:
        assert told(outcome(aws.plane("dynamodb", 1, PATIENT), "GetItem")) == body
