"""Rejected messages lie in a queue, each with its reason, whatever they are made of."""

from __future__ import annotations

import json
from typing import Any

import pytest

from clockwork.aws.rejects import LONGEST_BODY, AwsRejects
from clockwork.domain.errors import Unavailable
from clockwork.domain.rejected import Rejected
from clockwork.ports import Refused
from tests.contract.worlds import AwsWorld


def rejected(number: int, body: bytes = b"{", reason: str = "the body is not JSON") -> Rejected:
    return Rejected(f"m{number}", "orders", body, reason)


def kept(world: AwsWorld, count: int) -> list[dict[str, Any]]:
    found = [json.loads(body) for body in world.receive(count)]
    return sorted(found, key=lambda one: int(one["messageId"][1:]))


def test_every_message_is_kept_with_its_reason(aws_world: AwsWorld) -> None:
    rejects = AwsRejects(aws_world.aws, aws_world.queue_url())
    assert rejects.send([rejected(n) for n in range(23)]) == []
    found = kept(aws_world, 23)
    assert len(found) == 23
    assert found[0] == {"messageId": "m0", "lane": "orders", "reason": "the body is not JSON", "message": "{"}


@pytest.mark.parametrize("body", [b"", b"\x00\x01", b"\xff\xfe", "grüße 🎉".encode()])
def test_bytes_that_no_queue_would_take_are_kept_as_text(aws_world: AwsWorld, body: bytes) -> None:
    assert AwsRejects(aws_world.aws, aws_world.queue_url()).send([rejected(0, body)]) == []
    assert kept(aws_world, 1)[0]["message"] == body.decode("utf-8", "replace")


def test_ten_large_messages_fit_since_each_is_cut(aws_world: AwsWorld) -> None:
    large = [rejected(n, ("é" * 300_000).encode()) for n in range(10)]
    assert AwsRejects(aws_world.aws, aws_world.queue_url()).send(large) == []
    assert [len(one["message"]) for one in kept(aws_world, 10)] == [LONGEST_BODY] * 10


def test_a_queue_that_does_not_answer_refuses_all_and_raises_nothing(
    aws_world: AwsWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    rejects = AwsRejects(aws_world.aws, aws_world.queue_url())

    def broken(*_: object, **__: object) -> Any:
        raise Unavailable("throttled")

    monkeypatch.setattr("clockwork.aws.rejects.ask", broken)
    refused = rejects.send([rejected(n) for n in range(12)])
    assert refused == [Refused(n, False, "throttled") for n in range(12)]
