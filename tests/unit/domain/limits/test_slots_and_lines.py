"""Slots under a rate limit as pure decisions: how far ahead one may lie, and when who found none comes back."""

from __future__ import annotations

import math
from typing import Any

import pytest

from clockwork.domain.limits.slots import (
    HARD_MS,
    LEAST_BACK_MS,
    MOST_BACK_MS,
    NEWCOMER_MS,
    SOONEST_MS,
    WAITED_MS,
    Reach,
    back_at,
    is_line,
    reach_of,
    slots_until,
    urgency,
)
from clockwork.domain.releases import Release
from clockwork.domain.waits import Line
from tests.support.examples import NOW, occurrence, release


def one(*, window: float | None = None, line: Line | None = None, **changes: Any) -> Release:
    """A release that is due now, with a relevancy window (s) or a place in the line."""
    return release(occurrence=occurrence(relevancy_window_seconds=window), line=line, **changes)


@pytest.mark.parametrize(("line_until", "stands"), [(0, False), (NOW + HARD_MS, False), (NOW + HARD_MS + 1, True)])
def test_a_line_stands_while_its_end_lies_behind_all_slots(line_until: int, stands: bool) -> None:
    assert is_line(line_until, NOW) is stands
    assert Reach(2, 1).latest(line_until, NOW) == (1 if stands else 2)


def test_a_call_for_two_reaches_no_further_than_either() -> None:
    assert Reach(5, 1).within(Reach(4, 3)) == Reach(4, 1)


@pytest.mark.parametrize(
    ("asked", "reach"),
    [
        (one(), Reach(NOW + HARD_MS, NOW + NEWCOMER_MS)),
        (one(line=Line(None, NOW)), Reach(NOW + HARD_MS, NOW + WAITED_MS)),
        (one(line=Line(NOW + HARD_MS + 1, NOW)), Reach(NOW + HARD_MS, NOW + WAITED_MS)),
        (one(line=Line(NOW + HARD_MS, NOW)), Reach(NOW + HARD_MS, NOW + HARD_MS)),
        (one(window=40), Reach(NOW + 40_000, NOW + NEWCOMER_MS)),
        (one(window=2), Reach(NOW + 2_000, NOW + 2_000)),
        (one(window=100), Reach(NOW + HARD_MS, NOW + NEWCOMER_MS)),
        (one(window=40, line=Line(NOW, NOW)), Reach(NOW + 40_000, NOW + 40_000)),
    ],
)
def test_a_slot_may_lie_further_ahead_for_who_has_waited_and_never_beyond_its_window(
    asked: Release, reach: Reach
) -> None:
    assert reach_of(asked, NOW) == reach


@pytest.mark.parametrize(
    ("place_ms", "waited_ms", "after_ms"),
    [
        (400_000, 300_000, 100_000),  # a quarter of the rest
        (400_000, 120_000, 60_000),  # half of what it has waited
        (400_000, 0, LEAST_BACK_MS),
        (0, 10**9, LEAST_BACK_MS),
        (10**9, 10**9, MOST_BACK_MS),
    ],
)
def test_who_found_no_slot_comes_back_after_a_share_of_its_wait(place_ms: int, waited_ms: int, after_ms: int) -> None:
    assert back_at(one(), NOW + place_ms, NOW - waited_ms, NOW, 0.5) == NOW + after_ms


def test_those_of_one_line_come_back_up_to_a_tenth_sooner_or_later_and_never_after_the_longest_wait() -> None:
    asked = (NOW + 400_000, NOW - 300_000, NOW)
    assert [back_at(one(), *asked, fraction) - NOW for fraction in (0.0, 0.25, 1.0)] == [90_000, 95_000, 110_000]
    assert back_at(one(), NOW + 10**9, NOW - 10**9, NOW, 1.0) == NOW + MOST_BACK_MS
    assert back_at(one(), NOW + 10**9, NOW - 10**9, NOW, 0.0) == NOW + MOST_BACK_MS * 9 // 10


@pytest.mark.parametrize(
    ("window", "after_ms"),
    [(1_000, 100_000), (100, 70_000), (70, 40_000), (40, 20_000), (10, 5_000), (1.5, SOONEST_MS)],
)
def test_who_has_a_window_comes_back_before_its_end(window: float, after_ms: int) -> None:
    assert back_at(one(window=window), NOW + 400_000, NOW - 300_000, NOW, 0.5) == NOW + after_ms


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
