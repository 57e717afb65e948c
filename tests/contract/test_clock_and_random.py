"""The contracts of `ports.Clock` and `ports.Random`."""

from __future__ import annotations

import re
import time

import pytest

from clockwork.aws.clock import OsRandom, SystemClock
from clockwork.memory.clock import MemoryClock, SeededRandom
from clockwork.ports import Clock, Random

CLOCKS = pytest.mark.parametrize("clock", [MemoryClock(), MemoryClock(skew_ms=-7), SystemClock()])
RANDOMS = pytest.mark.parametrize("random", [SeededRandom(), OsRandom()])


@CLOCKS
def test_a_hold_never_returns_early(clock: Clock) -> None:
    for ms in [1, 2, 3, 5] * 5:
        at = clock.now() + ms
        clock.hold_until(at)
        assert clock.now() >= at


@CLOCKS
def test_a_hold_until_a_past_instant_returns_at_once(clock: Clock) -> None:
    before = clock.now()
    clock.hold_until(before - 3_600_000)
    assert clock.now() - before < 1_000


def test_the_system_clock_is_the_wall_clock_rounded_down() -> None:
    before = time.time_ns()
    now = SystemClock().now()
    assert before // 1_000_000 <= now <= time.time_ns() // 1_000_000


def test_a_hold_outlasts_a_wall_clock_that_is_set_back(monkeypatch: pytest.MonkeyPatch) -> None:
    wall = iter([1_000_000_000, 400_000_000, 999_999_999, 1_005_000_000])
    slept: list[float] = []
    monkeypatch.setattr(time, "time_ns", lambda: next(wall))
    monkeypatch.setattr(time, "sleep", slept.append)
    SystemClock().hold_until(1_005)
    assert slept == pytest.approx([0.005, 0.605, 0.005_000_001])


@RANDOMS
def test_tokens_are_22_characters_of_base64url_and_never_the_same(random: Random) -> None:
    tokens = [random.token() for _ in range(500)]
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{22}", token) for token in tokens)
    assert len(set(tokens)) == 500


@RANDOMS
def test_a_number_below_is_any_of_them(random: Random) -> None:
    assert {random.below(3) for _ in range(200)} == {0, 1, 2}
    assert random.below(1) == 0


@RANDOMS
def test_a_fraction_is_below_one_and_spread(random: Random) -> None:
    drawn = [random.fraction() for _ in range(500)]
    assert all(0 <= fraction < 1 for fraction in drawn)
    assert min(drawn) < 0.2 < 0.8 < max(drawn)
