"""A ticket that waits has one copy, however often it is shown: only a worker that holds its message sends it anew."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from clockwork.domain.errors import Unavailable
from clockwork.domain.ids import AnonymousJob
from clockwork.domain.keys import row_key
from clockwork.domain.pools.pool import Pool
from clockwork.domain.releases import Deliver, Of
from clockwork.flows.pools.claim import Asked, Claimed, claim_for
from clockwork.memory.world import MemoryClockwork
from clockwork.settings import Settings
from clockwork.targets.pool import PoolTarget
from tests.support.examples import ACME, occurrence, release

POOL = Pool(name="etl", revision=1, principals=("w",), handlers=("work", "toil"), lease_seconds=60)


@pytest.fixture
def clockwork() -> MemoryClockwork:
    """A pool with one ticket, whose handler no worker here has: so it is put off whenever it is shown."""
    made = MemoryClockwork(Settings.for_local().with_(pools=("etl=normal",)))
    made.clients.put(msgspec.structs.replace(ACME, allowed_pools=("etl",)))
    made.ticket_keys.make("k" * 22)
    now = made.clock.at
    one = occurrence(target=PoolTarget("etl", "work", timeout_seconds=600), due_at=now, created_at=now)
    assert not made.world.releases.send([msgspec.structs.replace(release(), occurrence=one, run_at=now)], now)
    return made


def received(clockwork: MemoryClockwork) -> list[Asked]:
    messages = clockwork.pool_queues.of("etl").receive(10)
    return [Asked(f"{one.message_id:c>22}"[:22], one.body, one.message_id) for one in messages]


def claim(clockwork: MemoryClockwork, asked: Sequence[Asked]) -> list[Claimed]:
    return claim_for(clockwork.world, POOL, "w", ["toil"], asked, clockwork.clock.at + 29_000)


def copies(clockwork: MemoryClockwork) -> int:
    return len(clockwork.pool_queues.of("etl").messages)


def test_a_claim_that_is_repeated_since_its_answer_was_lost_makes_no_second_copy(clockwork: MemoryClockwork) -> None:
    asked = received(clockwork)
    for _ in range(4):
        (answer,) = claim(clockwork, asked)
        assert (answer.start, answer.is_left) == (None, False)
    assert copies(clockwork) == 1


def test_an_old_ticket_that_is_shown_again_makes_no_second_copy(clockwork: MemoryClockwork) -> None:
    asked = received(clockwork)
    claim(clockwork, asked)
    for number in range(5):
        lie = Asked(f"{number:l>22}", asked[0].ticket, "no receipt")
        claim(clockwork, [lie])
    assert copies(clockwork) == 1


def test_a_worker_that_is_slower_than_its_message_is_hidden_leaves_the_message_to_others(
    clockwork: MemoryClockwork,
) -> None:
    asked = received(clockwork)
    clockwork.clock.advance(61_000)
    claim(clockwork, asked)
    (message,) = clockwork.pool_queues.of("etl").messages.values()
    assert message.message_id == asked[0].receipt
    assert received(clockwork)


@pytest.mark.parametrize("error", [Unavailable("no answer"), ValueError("ReceiptHandleIsInvalid")])
def test_a_queue_that_tells_nothing_leaves_the_ticket(
    clockwork: MemoryClockwork, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def silent(*_: Any) -> Sequence[bool]:
        raise error

    asked = received(clockwork)
    with monkeypatch.context() as broken:
        broken.setattr(type(clockwork.pool_queues), "hold", silent)
        (answer,) = claim(clockwork, asked)
    assert answer.is_left
    assert copies(clockwork) == 1
    assert [one.is_left for one in claim(clockwork, asked)] == [False]
    assert copies(clockwork) == 1


def test_a_queue_that_tells_nothing_about_one_message_leaves_that_ticket_alone(
    clockwork: MemoryClockwork, monkeypatch: pytest.MonkeyPatch
) -> None:
    hold = type(clockwork.pool_queues).hold

    def silent_about_the_first(self: Any, pool: str, queue: str, receipts: Sequence[str], seconds: int) -> Any:
        return [None, *hold(self, pool, queue, receipts[1:], seconds)]

    now = clockwork.clock.at
    other = occurrence(target=PoolTarget("etl", "work", timeout_seconds=600), due_at=now + 1, created_at=now)
    job_id = AnonymousJob("p000", row_key(now + 1, "another"), 0).job_id
    assert not clockwork.world.releases.send([Deliver(Of(job_id), other, now)], now)
    asked = received(clockwork)
    with monkeypatch.context() as broken:
        broken.setattr(type(clockwork.pool_queues), "hold", silent_about_the_first)
        assert [one.is_left for one in claim(clockwork, asked)] == [True, False]


def test_one_message_that_a_call_shows_ten_times_makes_no_second_copy(clockwork: MemoryClockwork) -> None:
    (one,) = received(clockwork)
    claim(clockwork, [Asked(f"{number:c>22}", one.ticket, one.receipt) for number in range(10)])
    assert copies(clockwork) == 1
