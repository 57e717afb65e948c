"""If one body tells twice of an attempt, that is one piece of work, answered in both places."""

from __future__ import annotations

import msgspec
import pytest

from clockwork.domain.executions import Execution, State
from clockwork.domain.pools.pool import Pool
from clockwork.flows.pools.reports import Beat, Ended, beat_all, report_all
from clockwork.flows.requests.reporting import Reported
from clockwork.memory.world import MemoryClockwork
from clockwork.settings import Settings
from tests.support.claimed import claimed_token
from tests.support.examples import ACME

POOL = Pool(name="etl", revision=1, principals=("w",), handlers=("work",), lease_seconds=60)
HANDED_BACK, SUCCEEDED = Reported(State.HANDED_BACK), Reported(State.SUCCEEDED)


@pytest.fixture
def clockwork() -> MemoryClockwork:
    made = MemoryClockwork(Settings.for_local().with_(pools=("etl=normal",)))
    made.clients.put(msgspec.structs.replace(ACME, allowed_pools=("etl",)))
    made.ticket_keys.make("k" * 22)
    return made


@pytest.fixture
def token(clockwork: MemoryClockwork) -> str:
    """The token of an attempt that a worker has just claimed."""
    return claimed_token(clockwork, POOL)


def only(clockwork: MemoryClockwork) -> Execution:
    (record,) = clockwork.executions.all()
    return record


def test_a_handback_that_is_told_ten_times_at_once_sends_one_ticket(clockwork: MemoryClockwork, token: str) -> None:
    taken = report_all(clockwork.world, POOL, [Ended(token, HANDED_BACK)] * 10)
    assert [(one.is_stale, one.is_unavailable) for one in taken] == [(False, False)] * 10
    assert len(clockwork.pool_queues.of("etl").messages) == 1
    assert only(clockwork).budget.handbacks == 1


def test_of_two_outcomes_under_one_token_the_first_one_counts(clockwork: MemoryClockwork, token: str) -> None:
    taken = report_all(clockwork.world, POOL, [Ended(token, SUCCEEDED), Ended(token, HANDED_BACK)])
    assert [one.is_stale for one in taken] == [False, True]
    assert only(clockwork).state is State.SUCCEEDED


def test_the_heartbeats_of_one_token_are_one_write_and_the_last_one_tells(
    clockwork: MemoryClockwork, token: str
) -> None:
    before = only(clockwork).revision
    beats = [Beat(token, progress=number / 100) for number in range(100)]
    taken = beat_all(clockwork.world, POOL, beats)
    assert [(one.is_stale, one.is_unavailable) for one in taken] == [(False, False)] * 100
    assert only(clockwork).revision == before + 1
    record = only(clockwork)
    assert record.awaited is not None
    assert record.awaited.progress == 0.99


def test_a_token_that_is_none_is_stale_in_each_place(clockwork: MemoryClockwork, token: str) -> None:
    taken = report_all(
        clockwork.world, POOL, [Ended("none", SUCCEEDED), Ended(token, SUCCEEDED), Ended("none", SUCCEEDED)]
    )
    assert [one.is_stale for one in taken] == [True, False, True]
