"""Quotas: a client may create so many jobs a second and a day; a client without caps costs nothing."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clockwork.domain.errors import TooManyRequests
from clockwork.domain.requests.quotas import block_of, plan_pace, seconds_left_of_day
from clockwork.flows.requests.quotas import Intake
from clockwork.memory.world import MemoryClockwork
from clockwork.settings import Settings
from tests.support.examples import ACME, NOW

ONE = Settings.for_local().with_(api_environments=1)


class Counted:
    """A Clockwork that counts the writes of `count_created`, the regulation's counter of the jobs of a day."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, settings: Settings = ONE) -> None:
        self.clockwork = MemoryClockwork(settings)
        self.writes = 0
        count = self.clockwork.world.regulation.count_created

        def counted(*args: Any) -> bool:
            self.writes += 1
            return count(*args)

        monkeypatch.setattr(self.clockwork.world.regulation, "count_created", counted)
        self.intake = Intake()


def refused(counted: Counted, count: int = 1, **caps: Any) -> int:
    """The seconds that a refused client is told to wait; 0 if the request is accepted."""
    try:
        counted.intake.admit(counted.clockwork.world, msgspec.structs.replace(ACME, **caps), count)
    except TooManyRequests as error:
        return error.retry_after_seconds
    return 0


def test_a_client_without_caps_costs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    counted = Counted(monkeypatch)
    assert not any(refused(counted, 500) for _ in range(1_000))
    assert counted.writes == 0


@given(st.lists(st.tuples(st.integers(0, 3_000), st.integers(1, 500)), max_size=60), st.floats(0.5, 500))
def test_whatever_comes_no_more_is_let_in_than_the_pace_and_one_request(
    requests: list[tuple[int, int]], per_second: float
) -> None:
    now, paid_until_at, admitted, largest = NOW, 0, 0, 0
    for pause_ms, count in requests:
        now += pause_ms
        pace = plan_pace(paid_until_at, count, per_second, now)
        paid_until_at = pace.paid_until_at
        if pace.admitted:
            admitted, largest = admitted + count, max(largest, count)
        else:
            assert plan_pace(paid_until_at, count, per_second, now + pace.retry_after_seconds * 1000).admitted
    assert admitted <= per_second * ((now - NOW) / 1000 + 1) + largest + 1


def test_a_batch_beyond_the_pace_is_let_in_and_the_next_request_waits_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    counted = Counted(monkeypatch)
    assert refused(counted, 500, creates_per_second=100) == 0
    assert refused(counted, 1, creates_per_second=100) == 4
    counted.clockwork.clock.at += 4_000
    assert refused(counted, 1, creates_per_second=100) == 0


def test_each_environment_lets_in_its_share(monkeypatch: pytest.MonkeyPatch) -> None:
    counted = Counted(monkeypatch, ONE.with_(api_environments=4))
    let_in = sum(refused(counted, creates_per_second=20) == 0 for _ in range(100))
    assert let_in == 6  # 5 a second: a second's worth ahead, and one that is paid for afterwards


def test_a_day_is_counted_with_one_write_per_block(monkeypatch: pytest.MonkeyPatch) -> None:
    counted = Counted(monkeypatch)
    assert not any(refused(counted, jobs_per_day=100_000) for _ in range(1_000))
    assert counted.writes == 10


def test_the_days_last_jobs_are_reserved_one_request_at_a_time_and_then_it_is_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    counted = Counted(monkeypatch)
    cap = {"jobs_per_day": 250}
    assert [refused(counted, 100, **cap), refused(counted, 100, **cap)] == [0, 0]
    left = seconds_left_of_day(counted.clockwork.clock.at)
    assert refused(counted, 51, **cap) == left
    assert refused(counted, 50, **cap) == 0
    assert refused(counted, 1, **cap) == left
    counted.clockwork.clock.at += left * 1000
    assert refused(counted, 250, **cap) == 0


def test_a_refused_day_does_not_use_up_the_pace(monkeypatch: pytest.MonkeyPatch) -> None:
    counted = Counted(monkeypatch)
    caps = {"jobs_per_day": 1, "creates_per_second": 0.01}
    assert refused(counted, 2, **caps) > 1_000
    assert refused(counted, 1, **caps) == 0


@pytest.mark.parametrize(("cap", "block"), [(1, 1), (199, 1), (500, 5), (10_000, 100), (10**9, 100)])
def test_a_block_is_a_hundredth_of_a_day_and_at_most_a_hundred(cap: int, block: int) -> None:
    assert block_of(cap) == block
