"""A fire of a bundle that fails behind the look at its job is sent on alone, without what its job has for it."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from clockwork.domain.errors import Unavailable
from clockwork.domain.fires.hints import hinted
from clockwork.domain.releases import Release
from clockwork.domain.storage.codec import decode_message, encode_message
from clockwork.flows.deliver import inbox
from clockwork.flows.deliver.deliver import deliver_batch
from clockwork.flows.deliver.inbox import Message
from clockwork.targets.message import Payload
from tests.support.named import Named


def sent_on(monkeypatch: pytest.MonkeyPatch) -> tuple[Sequence[Release], Sequence[Release]]:
    """Two fires of a bundle that fail behind the look at their job, as they were released, and as they are sent on."""
    case = Named(overlap="skip", payload=Payload(b'"' + b"x" * 10_000 + b'"'))
    clockwork = case.clockwork
    clockwork.clock.at += 20_000
    clockwork.poll_all()
    released = [one for message in clockwork.queue.messages.values() for one in decode_message(message.body)][:2]
    clockwork.queue.messages.clear()

    def give_no_answer(_: str) -> None:
        raise Unavailable("no answer")

    monkeypatch.setattr(clockwork.turnstiles, "get", give_no_answer)
    deliver_batch(clockwork.world, [Message("bundle", encode_message(released))], clockwork.clock.now() + 60_000)
    sent = [decode_message(message.body) for message in clockwork.queue.messages.values()]
    return released, [one for (one,) in sent]


def test_what_fails_behind_the_look_is_sent_without_its_payload(monkeypatch: pytest.MonkeyPatch) -> None:
    released, alone = sent_on(monkeypatch)
    assert [one.execution_id for one in alone] == [one.execution_id for one in released]
    assert all(one.occurrence.is_hint for one in alone)


def test_one_that_cannot_be_stripped_is_sent_whole_beside_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    stripped: list[Release] = []

    def failing(release: Release) -> Release:
        stripped.append(release)
        if len(stripped) == 1:
            raise ValueError("a defect")
        return hinted(release)

    monkeypatch.setattr(inbox, "hinted", failing)
    released, alone = sent_on(monkeypatch)
    assert [one.execution_id for one in alone] == [one.execution_id for one in released]
    assert [one.occurrence.is_hint for one in alone] == [False, True]
