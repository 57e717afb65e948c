"""Slots under a rate limit as pure decisions: how far ahead one may lie, and when who found none comes back."""

from __future__ import annotations

import math
from typing import Any

import pytest

from clockwork.domain.limits.slots import (
    AFTER_TURN_MS,
    HARD_MS,
    LEAST_BACK_MS,
    MOST_BACK_MS,
    NEWCOMER_MS,
    SOONEST_MS,
    TURN_MS,
    WAITED_MS,
    Reach,
    ahead_ms,
    back_at,
    is_line,
    reach_of,
    slots_until,
    urgency,
)
from clockwork.domain.releases import Deliver
from clockwork.domain.waits import Line
from tests.support.examples import NOW, occurrence, release

#: A release with this place comes back for its turn at once.
TURN_OF = NOW + TURN_MS - AFTER_TURN_MS


def one(*, window: float | None = None, line: Line | None = None, **changes: Any) -> Deliver:
    """A release that is due now, with a relevancy window (s) or a place in the line."""
    return release(occurrence=occurrence(relevancy_window_seconds=window), line=line, **changes)


@pytest.mark.parametrize(("line_until", "stands"), [(0, False), (NOW + TURN_MS, False), (NOW + TURN_MS + 1, True)])
def test_a_line_stands_while_the_turn_of_its_end_has_not_come(line_until: int, stands: bool) -> None:
    assert is_line(line_until, NOW) is stands
    assert Reach(2, 1).latest(line_until, NOW) == (1 if stands else 2)


def test_a_call_for_two_reaches_no_further_than_either() -> None:
    assert Reach(5, 1).within(Reach(4, 3)) == Reach(4, 1)


@pytest.mark.parametrize(
    ("asked", "reach"),
    [
        (one(), Reach(NOW + TURN_MS, NOW + NEWCOMER_MS)),
        (one(line=Line(None, NOW)), Reach(NOW + TURN_MS, NOW + NEWCOMER_MS)),
        (one(line=Line(None, NOW - 400_000)), Reach(NOW + TURN_MS, NOW + 20_000)),
        (one(line=Line(None, NOW - 4_000_000)), Reach(NOW + TURN_MS, NOW + WAITED_MS)),
        (one(line=Line(NOW + TURN_MS, NOW)), Reach(NOW + TURN_MS, NOW + TURN_MS)),
        (one(line=Line(NOW, NOW)), Reach(NOW + 45_000, NOW + 45_000)),
        (one(line=Line(NOW + 2 * TURN_MS, NOW)), Reach(NOW + TURN_MS, NOW + TURN_MS // 2)),
        (one(line=Line(NOW + 2 * TURN_MS, NOW - 440_000)), Reach(NOW + TURN_MS, NOW + 22_000)),
        (one(line=Line(NOW + 900_000, NOW)), Reach(NOW + TURN_MS, NOW + NEWCOMER_MS)),
        (one(window=30), Reach(NOW + 30_000, NOW + NEWCOMER_MS)),
        (one(window=2), Reach(NOW + 2_000, NOW + 2_000)),
        (one(window=100), Reach(NOW + TURN_MS, NOW + NEWCOMER_MS)),
        (one(window=20, line=Line(NOW + 900_000, NOW)), Reach(NOW + 20_000, NOW + 20_000)),
        (one(window=100, line=Line(NOW + 900_000, NOW)), Reach(NOW + TURN_MS, NOW + WAITED_MS)),
        (one(window=42, line=Line(NOW, NOW)), Reach(NOW + 42_000, NOW + 42_000)),
    ],
)
def test_a_slot_may_lie_further_ahead_for_who_has_waited_and_never_beyond_its_window(
    asked: Deliver, reach: Reach
) -> None:
    assert reach_of(asked, NOW) == reach


def test_the_longer_its_turn_is_away_the_less_far_ahead_its_slot_may_lie() -> None:
    turns = [-(10**12), -120_000, 0, TURN_MS, TURN_MS + 1_000, 100_000, 320_000, 10**12, math.inf]
    assert [ahead_ms(turn) for turn in turns] == [59_999, 51_428, 45_000, 40_000, 39_024, 16_000, 5_000, 5_000, 5_000]
    assert all(ahead_ms(turn) <= HARD_MS for turn in turns)


@pytest.mark.parametrize(
    ("rest_ms", "waited_ms", "after_ms"),
    [
        (400_000, 300_000, 100_000),  # a quarter of the rest
        (400_000, 120_000, 60_000),  # half of what it has waited
        (400_000, 0, LEAST_BACK_MS),
        (26_000, 10**9, 26_000),  # its turn comes soon: it comes back for that
        (500, 10**9, SOONEST_MS),
        (27_000, 10**9, LEAST_BACK_MS),
        (0, 10**9, LEAST_BACK_MS),
        (10**9, 10**9, MOST_BACK_MS),
    ],
)
def test_who_found_no_slot_comes_back_after_a_share_of_its_wait(rest_ms: int, waited_ms: int, after_ms: int) -> None:
    assert back_at(one(), TURN_OF + rest_ms, NOW - waited_ms, NOW, 0.5) == NOW + after_ms


def test_those_of_one_line_come_back_up_to_a_tenth_sooner_or_later_and_never_after_the_longest_wait() -> None:
    asked = (TURN_OF + 400_000, NOW - 300_000, NOW)
    assert [back_at(one(), *asked, fraction) - NOW for fraction in (0.0, 0.25, 1.0)] == [90_000, 95_000, 110_000]
    assert back_at(one(), NOW + 10**9, NOW - 10**9, NOW, 1.0) == NOW + MOST_BACK_MS
    assert back_at(one(), NOW + 10**9, NOW - 10**9, NOW, 0.0) == NOW + MOST_BACK_MS * 9 // 10


@pytest.mark.parametrize(
    ("window", "after_ms"),
    [(1_000, 100_000), (100, 70_000), (70, 40_000), (40, 20_000), (10, 5_000), (1.5, SOONEST_MS)],
)
def test_who_has_a_window_comes_back_before_its_end(window: float, after_ms: int) -> None:
    assert back_at(one(window=window), TURN_OF + 400_000, NOW - 300_000, NOW, 0.5) == NOW + after_ms


def test_windows_that_end_first_take_slots_first_then_places_then_instants() -> None:
    in_order = [
        one(window=5),
        one(window=6, line=Line(NOW, NOW)),
        one(window=6),
        one(line=Line(NOW, NOW), run_at=NOW + 9),
        one(line=Line(NOW + 1, NOW)),
        one(run_at=NOW),
        one(line=Line(None, NOW), run_at=NOW + 1),
    ]
    assert sorted(in_order[3:] + in_order[:3], key=urgency) == in_order
    assert urgency(one()) == (math.inf, math.inf, NOW)


@pytest.mark.parametrize(
    ("latest", "slots"), [(None, 9), (999, 0), (1_000, 1), (1_001, 1), (1_009, 1), (1_010, 2), (1_029, 3), (9_999, 9)]
)
def test_as_many_slots_are_taken_as_lie_within_reach(latest: int | None, slots: int) -> None:
    assert slots_until(1_000_000, 9, 10.0, latest) == slots
