"""When a poller sends: at an instant of the grid that is so many whole seconds before (due - margin)."""

from __future__ import annotations

import random

import pytest

from clockwork.domain.messages.alignment import SOON_AWAY, Aligned, Grid, Sweep, grid_of_shard, plan_sweep
from clockwork.domain.releases import delay_seconds
from tests.support.examples import NOW

GRID = Grid(margin_ms=150, grid_ms=250)
RNG = random.Random(5)
DUES = [NOW + RNG.randrange(2_150, 240_000) for _ in range(400)]
STARTS = [NOW + phase for phase in (0, 1, 149, 150, 249, 250, 399, 400, 500, 749, 750, 999)]


def delay_of(run_at: int, counts_from: int) -> int:
    return delay_seconds(run_at, Aligned(counts_from, GRID.margin_ms).counted_from(counts_from)) * 1_000


def instants(sweep: Sweep) -> dict[int, int]:
    return {index: one.at for one in sweep.bins for index in one.indexes}


def early_ms(run_at: int, sent_at: int, counts_from: int) -> int:
    """How long before `run_at` a message comes that is sent at an instant with a delay that counts from another."""
    return run_at - sent_at - delay_of(run_at, counts_from)


@pytest.mark.parametrize("now", STARTS)
def test_each_message_comes_at_most_a_grid_before_its_margin_and_never_within_it(now: int) -> None:
    sweep = plan_sweep(DUES, now, GRID)
    assert (sweep.reason, sweep.at_once) == ("aligned", ())
    for index, at in instants(sweep).items():
        assert GRID.margin_ms <= early_ms(DUES[index], at, at) < GRID.margin_ms + GRID.grid_ms


@pytest.mark.parametrize("now", STARTS)
def test_a_sweep_takes_less_than_a_second_and_has_one_bin_for_each_instant_of_the_grid(now: int) -> None:
    sweep = plan_sweep(DUES, now, GRID)
    assert sorted(instants(sweep)) == list(range(len(DUES)))
    assert [one.at % 1_000 for one in sweep.bins] == [(sweep.bins[0].at + 250 * n) % 1_000 for n in range(4)]
    assert all(now <= one.at < now + 1_000 and one.at % 250 == 0 for one in sweep.bins)


def test_a_delay_that_counted_from_the_clock_would_bring_some_messages_a_whole_second_too_soon() -> None:
    """A sleeper wakes up 0 to 8 ms late. The delay counts from the instant at which it should have."""
    waking = random.Random(7)
    too_soon = {"clock": 0, "grid": 0}
    for index, at in instants(plan_sweep(DUES, NOW, GRID)).items():
        woken = at + waking.randrange(9)
        for name, counts_from in (("clock", woken), ("grid", GRID.counts_from(at, woken))):
            too_soon[name] += early_ms(DUES[index], woken, counts_from) > GRID.margin_ms + GRID.grid_ms
    assert too_soon["clock"] > 0
    assert too_soon["grid"] == 0


@pytest.mark.parametrize(("late_ms", "counts_from_ms"), [(-3, -3), (0, 0), (50, 0), (51, 51), (900, 900)])
def test_what_is_sent_more_than_a_third_of_the_margin_late_counts_from_the_clock(
    late_ms: int, counts_from_ms: int
) -> None:
    assert GRID.counts_from(NOW, NOW + late_ms) == NOW + counts_from_ms


@pytest.mark.parametrize(
    ("late_ms", "counts_from_ms"), [(1_000, 1_000), (5_012, 5_000), (5_050, 5_000), (5_051, 5_051)]
)
def test_what_is_sent_whole_seconds_late_counts_from_as_many_seconds_after_its_instant(
    late_ms: int, counts_from_ms: int
) -> None:
    """Delays are whole seconds: counted from the clock, it would come a second too soon, as if it was a bit late."""
    assert GRID.counts_from(NOW, NOW + late_ms) == NOW + counts_from_ms


@pytest.mark.parametrize(
    ("left_ms", "waits"), [(-5_000, False), (0, False), (1_149, False), (1_150, True), (240_000, True)]
)
def test_what_has_no_whole_second_left_before_its_margin_is_sent_at_once(left_ms: int, waits: bool) -> None:
    sweep = plan_sweep([NOW + left_ms], NOW, GRID)
    assert (sweep.at_once, sweep.waiting, sweep.reason) == (((), 1, "aligned") if waits else ((0,), 0, "near"))


def test_jobs_that_are_due_on_whole_seconds_share_one_bin() -> None:
    sweep = plan_sweep([NOW // 1_000 * 1_000 + second * 1_000 for second in range(5, 60)], NOW + 321, GRID)
    assert [len(one.indexes) for one in sweep.bins] == [55]


def test_those_that_may_least_come_late_are_sent_first() -> None:
    run_ats = [NOW + 10_000 + 150 + offset for offset in (249, 0, 100)]
    (one,) = plan_sweep(run_ats, NOW, GRID).bins
    assert one.indexes == (1, 2, 0)


def test_of_few_messages_those_that_come_alone_come_at_a_finer_grid_and_the_others_share_theirs() -> None:
    second = NOW // 1_000 * 1_000 + 10_000 + GRID.margin_ms
    run_ats = [second + 249, second + 1_010, second + 1_240]
    sweep = plan_sweep(run_ats, NOW, Grid(150, 250, few_below=4))
    come = {index: early_ms(run_ats[index], at, at) for index, at in instants(sweep).items()}
    assert come == {0: 150 + 49, 1: 150 + 10, 2: 150 + 240}
    many = plan_sweep(run_ats, NOW, Grid(150, 250, few_below=3))
    assert {index: early_ms(run_ats[index], at, at) for index, at in instants(many).items()} == {**come, 0: 150 + 249}


@pytest.mark.parametrize(("shards", "grid_ms", "few_below"), [(1, 250, 240), (16, 250, 15), (600, 250, 0), (16, 0, 0)])
def test_messages_are_few_if_all_shards_together_have_fewer_than_one_for_each_instant(
    shards: int, grid_ms: int, few_below: int
) -> None:
    assert grid_of_shard(150, grid_ms, shards, tick_seconds=60).few_below == few_below


def test_what_comes_at_one_instant_leaves_in_one_call_and_of_many_those_first_that_may_least_come_late() -> None:
    second = NOW // 1_000 * 1_000 + 10_000 + GRID.margin_ms
    run_ats = [second + 1_000 * (number % 30) + 240 - number for number in range(SOON_AWAY + 1)]
    for count, first in ((SOON_AWAY, second), (SOON_AWAY + 1, None)):
        (one,) = plan_sweep(run_ats[:count], NOW, GRID).bins
        comes = [run_ats[index] // 1_000 for index in one.indexes]
        phases = [run_ats[index] % 1_000 for index in one.indexes]
        assert (comes == sorted(comes)) == (first is not None)
        assert (phases == sorted(phases)) == (first is None)


def test_without_a_grid_all_is_sent_at_once() -> None:
    sweep = plan_sweep(DUES, NOW, Grid(150, 0))
    assert (len(sweep.at_once), sweep.bins, sweep.reason) == (len(DUES), (), "off")
