"""The benchmark of caps: a short line keeps the bounds, and a bound that is missed is told."""

from __future__ import annotations

from typing import Any

import pytest

from bench import caps
from clockwork.domain.limits import slots
from clockwork.flows.deliver import inform
from clockwork.flows.deliver import slots as slots_flow

pytestmark = pytest.mark.nightly

SOUND: dict[str, Any] = {
    "use": 1.0,
    "afterCancelS": 50.0,
    "newcomerWaitS": 0.1,
    "afterRaiseS": 57.0,
    "lastAfterRaiseS": 140.0,
    "afterDeleteS": 59.0,
}


def test_a_short_line_keeps_the_bounds() -> None:
    assert caps.measure_use(200)["use"] >= caps.LEAST_USE
    cancelled = caps.measure_cancel(300)
    assert cancelled["afterCancelS"] <= caps.BOUNDS["afterCancelS"]
    assert cancelled["newcomerWaitS"] <= 60
    assert caps.measure_raise(300)["afterRaiseS"] <= caps.BOUNDS["afterRaiseS"]
    assert caps.measure_delete(120_000)["afterDeleteS"] <= caps.BOUNDS["afterDeleteS"]


def test_slots_that_lie_far_ahead_miss_the_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HARD_MS", "WAITED_MS", "NEWCOMER_MS"):
        monkeypatch.setattr(slots, name, 10**9)
    assert caps.measure_raise(300)["afterRaiseS"] > caps.BOUNDS["afterRaiseS"]


def test_slots_for_what_was_cancelled_miss_the_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inform, "has_ended_for", lambda *_: False)
    assert caps.measure_cancel(300)["afterCancelS"] > caps.BOUNDS["afterCancelS"]


def test_what_comes_back_too_seldom_leaves_the_cap_unused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slots_flow, "back_at", lambda *_: _[-2] + 900_000)
    assert caps.measure_use(200)["use"] < caps.LEAST_USE


def test_each_bound_that_is_missed_is_told() -> None:
    assert caps.missed({**SOUND, "long": SOUND}) == []
    assert caps.missed({**SOUND, "use": 0.97, "long": {**SOUND, "afterRaiseS": 901.0}}) == [
        "use 0.97 < 0.98",
        "long: afterRaiseS 901.0 > 900",
    ]
    assert caps.missed({**SOUND, "afterCancelS": 90.1, "afterDeleteS": 75.1, "long": SOUND}) == [
        "afterCancelS 90.1 > 90",
        "afterDeleteS 75.1 > 75",
    ]


def test_the_page_shows_both_lines() -> None:
    lines = caps.page({**SOUND, "long": {**SOUND, "afterRaiseS": 63.0}}).splitlines()
    assert "| cap raised a hundredfold: a job that is due then waits | 60; 900 | 57.0 | 63.0 |" in lines
