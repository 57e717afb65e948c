"""Permits that are slow or give no answer lose nothing of what a worker says, and no call that claims."""

from __future__ import annotations

import json

import pytest

from clockwork.domain.executions import State
from clockwork.domain.limits.concurrency import OF_WORKERS
from clockwork.flows.deliver.batch import Batch
from clockwork.flows.deliver.concurrency import give_back_permits
from clockwork.flows.deliver.items import Item
from clockwork.flows.deliver.waiting import Resent
from clockwork.flows.pools.reports import Ended, report_all
from clockwork.flows.requests.reporting import Reported
from clockwork.memory.world import MemoryClockwork
from tests.support.examples import claim_of
from tests.unit.flows.pools.limited import POOL, asked_of, beat, claim, limit, limited, send, slow, started, taken


@pytest.fixture
def clockwork() -> MemoryClockwork:
    return limited()


@pytest.mark.parametrize("answers", [True, False])
@pytest.mark.parametrize("cost_ms", [300, 1_500, 12_000])
def test_slow_permits_keep_no_heartbeat_from_being_recorded(
    clockwork: MemoryClockwork, cost_ms: int, *, answers: bool
) -> None:
    limit(clockwork, 200)
    send(clockwork, 30)
    tokens = [token for _ in range(3) for token in started(clockwork)]
    assert len(tokens) == 30
    clockwork.clock.advance(31_000)
    began_at, called = clockwork.clock.at, slow(clockwork, "lease", cost_ms, answers=answers)
    taken = beat(clockwork, tokens)
    assert all(not one.is_stale and not one.is_unavailable for one in taken)
    assert {claim_of(one).until for one in clockwork.executions.all()} == {began_at + 60_000}
    assert clockwork.clock.at - began_at <= 3_000 + cost_ms
    assert called[0] == began_at
    assert len(called) == 1 or answers


def test_slow_permits_keep_no_next_attempt_from_being_sent(clockwork: MemoryClockwork) -> None:
    send(clockwork, 2)
    tokens = started(clockwork)
    began_at, called = clockwork.clock.at, slow(clockwork, "give_back", 12_000, answers=False)
    taken = report_all(clockwork.world, POOL, [Ended(token, Reported(State.HANDED_BACK)) for token in tokens])
    assert all(not one.is_stale and not one.is_unavailable for one in taken)
    sent_at = [json.loads(one.body)["sentAt"] for one in clockwork.pool_queues.of("etl").messages.values()]
    assert (sent_at, called) == ([began_at] * 2, [began_at])


def test_the_permits_that_were_not_asked_for_are_others_each_time(clockwork: MemoryClockwork) -> None:
    limit(clockwork, 8)
    send(clockwork, 8)
    tokens = started(clockwork)
    slow(clockwork, "lease", 2_000, answers=True)
    for _ in range(12):
        clockwork.clock.advance(15_000)
        beat(clockwork, tokens)
    assert taken(clockwork) > 2


def test_slow_permits_use_up_no_call_that_claims(clockwork: MemoryClockwork) -> None:
    limit(clockwork, 200)
    send(clockwork, 10)
    asked, began_at = asked_of(clockwork), clockwork.clock.at
    called = slow(clockwork, "lease", 12_000, answers=False)
    assert [one.is_left for one in claim(clockwork, asked)] == [True] * 10
    assert (called, clockwork.clock.at) == ([began_at], began_at + 12_000)


def test_slow_permits_use_up_no_call_that_asks_again(clockwork: MemoryClockwork) -> None:
    limit(clockwork, 200)
    send(clockwork, 10)
    asked = asked_of(clockwork)
    assert all(one.start is not None for one in claim(clockwork, asked))
    began_at, called = clockwork.clock.at, slow(clockwork, "lease", 12_000, answers=False)
    assert [one.is_left for one in claim(clockwork, asked)] == [True] * 10
    assert (called, clockwork.clock.at) == ([began_at], began_at + 12_000)


def test_permits_that_are_not_used_and_slow_use_up_no_call(clockwork: MemoryClockwork) -> None:
    made = send(clockwork, 10)
    batch = Batch(clockwork.world, clockwork.clock.at + 29_000, Resent(clockwork.world))
    items = [Item(str(number), one, secret="c" * 22, permit=OF_WORKERS + number) for number, one in enumerate(made)]
    began_at, called = clockwork.clock.at, slow(clockwork, "give_back", 12_000, answers=False)
    give_back_permits(batch, items)
    assert called == [began_at]
