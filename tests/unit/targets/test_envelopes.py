"""The envelope that a function or a bus receives: the facts of an attempt, and the payload as the client sent it."""

from __future__ import annotations

import json

import pytest

from clockwork.domain.releases import Delivery
from clockwork.targets.message import Payload, envelope_of
from tests.support.examples import NOW, occurrence


@pytest.mark.parametrize(
    ("payload", "received"),
    [
        (Payload(b'{"order":17,"city":"Z\xc3\xbcrich"}'), {"order": 17, "city": "Zürich"}),
        (Payload(b"null"), None),
        (Payload('say "hi"\nZürich'.encode(), is_text=True), 'say "hi"\nZürich'),
    ],
)
def test_an_envelope_is_one_object_of_facts_and_payload(payload: Payload, received: object) -> None:
    delivery = Delivery("an execution", "a job", 2, occurrence(payload=payload, due_at=NOW), NOW + 1)
    assert json.loads(envelope_of(delivery.message)) == {
        "executionId": "an execution",
        "jobId": "a job",
        "attempt": 2,
        "dueAt": "2023-11-14T22:13:20.000Z",
        "payload": received,
    }


def test_a_payload_of_json_keeps_every_byte() -> None:
    sent = b'{ "a":1.10,\t"b" : [] }'
    delivery = Delivery("e", "j", 1, occurrence(payload=Payload(sent)), NOW + 1)
    assert envelope_of(delivery.message).endswith(b'"payload":' + sent + b"}")
