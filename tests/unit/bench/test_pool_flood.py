"""The benchmark of a flood in a pool holds its bound in a small form, and finds out what does not share."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bench import pool_flood
from bench.isolating.pool import flood
from clockwork.domain.pools import shares
from clockwork.domain.pools.shares import Shares
from clockwork.flows.pools import sharing

pytestmark = pytest.mark.nightly

SOUND = {"lost": 0, "duplicates": 0, "p99Ms": 2_000, "p99AloneMs": 1_000}


def test_a_flood_costs_a_quiet_client_no_more_than_its_own_work_again() -> None:
    alone, beside = (flood("high", 1_000, 1, count=count) for count in (0, 600))
    assert (beside.lost, beside.duplicates, alone.moved) == (0, 0, 0)
    assert beside.p99_ms <= 2 * alone.p99_ms
    # No hand lies idle: the flood alone is a minute of work, and a sixth of another client's comes between.
    assert beside.over_ms < 85_000


@pytest.mark.parametrize("slots", [1, 3])
def test_few_slots_share_and_a_flood_that_comes_piece_by_piece_is_one_too(slots: int) -> None:
    beside = flood("high", 1_000, 1, count=60 * slots, quiet=12 * slots, slots=slots, apart_ms=150)
    assert (beside.lost, beside.duplicates) == (0, 0)
    assert beside.p99_ms <= 15_000


@pytest.mark.parametrize(("slots", "most_ms"), [(10, 2_300), (4, 4_000), (1, 16_000)])
def test_a_trickle_costs_a_quiet_client_little_once_its_client_is_noted(slots: int, most_ms: int) -> None:
    """Ten tickets a second: each sender puts all of them into the first queue until it is told of the flood."""
    beside = flood("high", 1_000, 3, count=600, quiet=10 * slots, slots=slots, apart_ms=100)
    assert beside.duplicates == 0
    assert max(beside.quiet_ms) <= most_ms


def test_a_trickle_that_nobody_notes_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Shares, "floods", lambda *_: False)
    assert flood("high", 1_000, 3, count=600, apart_ms=100).p99_ms > 2_300


def test_a_client_alone_asks_its_queues_no_more_often(monkeypatch: pytest.MonkeyPatch) -> None:
    shared = flood("high", 1_000, 1, count=0)
    monkeypatch.setattr(sharing, "beyond_share", lambda *_: [])
    assert shared.receives == flood("high", 1_000, 1, count=0).receives


def test_a_flood_that_need_not_share_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sharing, "beyond_share", lambda *_: [])
    monkeypatch.setattr(shares, "MOST_FIRST", 10_000)
    assert flood("high", 1_000, 1).p99_ms > 20_000


@pytest.mark.parametrize(
    ("changes", "count"), [({}, 0), ({"p99Ms": 2_001}, 1), ({"lost": 1, "duplicates": 2}, 2), ({"p99AloneMs": 900}, 1)]
)
def test_a_bound_that_does_not_hold_is_told_and_ends_in_failure(
    changes: dict[str, Any], count: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = {"high, 1 s": {**SOUND, **changes}}
    assert len(pool_flood.broken(found)) == count
    monkeypatch.setattr(pool_flood, "measure", lambda _: found)
    if count:
        with pytest.raises(SystemExit, match="1"):
            pool_flood.main([])
    else:
        pool_flood.main([])
    assert json.loads(capsys.readouterr().out.splitlines()[-1]) == found
