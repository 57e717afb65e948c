"""Rejects: the queue keeps each rejected message with the reason, whatever bytes the message has."""

from __future__ import annotations

import json
from typing import Any

import pytest

from clockwork.aws.queues.rejects import LONGEST_TEXT, AwsRejects
from clockwork.domain.errors import Unavailable
from clockwork.domain.requests.create import Rejected
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


@pytest.mark.parametrize("character", ["a", "é", "🎉", "\x01", "\udfff"])
def test_ten_large_messages_with_long_reasons_fit_since_each_is_cut(aws_world: AwsWorld, character: str) -> None:
    body = (character * 300_000).encode("utf-8", "replace")
    large = [rejected(n, body, character * 300_000) for n in range(10)]
    assert AwsRejects(aws_world.aws, aws_world.queue_url()).send(large) == []
    for one in kept(aws_world, 10):
        assert LONGEST_TEXT - 12 <= len(json.dumps(one["reason"])) - 2 <= LONGEST_TEXT
        assert one["message"] == body.decode()[: len(one["message"])]


def test_what_grows_towards_its_end_is_cut_as_well(aws_world: AwsWorld) -> None:
    body = ("a" * 30_000 + "🎉" * 300_000).encode()
    assert AwsRejects(aws_world.aws, aws_world.queue_url()).send([rejected(n, body) for n in range(10)]) == []
    assert all(one["message"].startswith("a" * 15_000) for one in kept(aws_world, 10))


def test_a_queue_that_does_not_answer_refuses_all_and_raises_nothing(
    aws_world: AwsWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    rejects = AwsRejects(aws_world.aws, aws_world.queue_url())

    def broken(*_: object, **__: object) -> Any:
        raise Unavailable("throttled")

    monkeypatch.setattr("clockwork.aws.queues.rejects.ask", broken)
    refused = rejects.send([rejected(n) for n in range(12)])
    assert refused == [Refused(n, False, "throttled") for n in range(12)]
