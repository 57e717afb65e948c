"""Properties of the cron engine that hold for every schedule, zone and instant."""

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from clockwork.domain.cron.compiled import CompiledCron, DstGap, DstOverlap
from clockwork.domain.cron.engine import HORIZON_SECONDS, fires_between, next_fire
from clockwork.domain.cron.invalid import InvalidCron
from clockwork.domain.cron.parser import compile_cron
from tests.support.searches import drawn
from tests.unit.domain.cron.expressions import EXPRESSIONS, INSTANTS, SIX_FIELDS, ZONES
from tests.unit.domain.cron.oracle import changes_of_offset

pytestmark = pytest.mark.long

HOUR_MS = 3_600_000
#: Zones with a gap, and the length of the gap (s).
GAPS = [("America/New_York", 3600), ("Australia/Lord_Howe", 1800), ("Antarctica/Troll", 7200), ("Africa/Cairo", 3600)]


def compiled(expression: str, gap: DstGap, overlap: DstOverlap) -> CompiledCron:
    try:
        return compile_cron(expression, dst_gap=gap, dst_overlap=overlap)
    except InvalidCron:
        assume(False)
        raise


SCHEDULES = st.builds(
    compiled,
    EXPRESSIONS | SIX_FIELDS,
    st.sampled_from(["run_at_gap_end", "skip"]),
    st.sampled_from(["first", "second", "both"]),
)


@given(SCHEDULES, ZONES, INSTANTS)
@settings(max_examples=drawn(300), deadline=None)
def test_fires_are_strictly_later_whole_seconds_within_the_horizon(cron: CompiledCron, zone: str, at: int) -> None:
    for _ in range(5):
        fire = next_fire(cron, zone, at)
        if fire is None:
            return
        assert fire > at
        assert fire % 1000 == 0
        assert fire <= at + (HORIZON_SECONDS + 1) * 1000
        at = fire


@given(SCHEDULES, ZONES, INSTANTS, st.lists(st.floats(0, 1), min_size=3, max_size=3))
@settings(max_examples=drawn(300), deadline=None)
def test_nothing_is_skipped_between_an_instant_and_the_next_fire(
    cron: CompiledCron, zone: str, at: int, fractions: list[float]
) -> None:
    fire = next_fire(cron, zone, at)
    assume(fire is not None)
    assert fire is not None
    for fraction in fractions:
        between = at + int((fire - 1 - at) * fraction)
        assert next_fire(cron, zone, between) == fire


@given(SCHEDULES, st.sampled_from(GAPS), st.integers(0, 1), st.integers(1, 3 * HOUR_MS))
@settings(max_examples=drawn(200), deadline=None)
def test_every_start_near_a_shift_continues_the_same_sequence(
    cron: CompiledCron, zone_and_gap: tuple[str, int], which: int, before_ms: int
) -> None:
    zone, _ = zone_and_gap
    change_at = SHIFTS[zone][which] * 1000
    whole = list(fires_between(cron, zone, change_at - 4 * HOUR_MS, change_at + 4 * HOUR_MS))
    for start in (change_at - before_ms, change_at, change_at + before_ms):
        assert list(fires_between(cron, zone, start, change_at + 4 * HOUR_MS)) == [at for at in whole if at > start]


@given(st.integers(0, 59), st.sampled_from(GAPS), st.lists(st.integers(0, 59_999), min_size=2, max_size=5))
@settings(max_examples=drawn(100), deadline=None)
def test_a_daily_time_inside_a_gap_fires_at_its_end_whatever_the_start(
    minute: int, zone_and_gap: tuple[str, int], starts: list[int]
) -> None:
    zone, gap_seconds = zone_and_gap
    change = SHIFTS[zone][0]
    clock = (change + OFFSETS[zone]) % 86_400 + minute * 60 % gap_seconds
    cron = compile_cron(f"{clock // 60 % 60} {clock // 3600} * * *")
    assert {next_fire(cron, zone, change * 1000 - 1 - start) for start in starts} == {change * 1000}


#: The shifts of 2026 by zone (UTC seconds), the gap first. Lord Howe's gap is its second shift, hence the reversal.
SHIFTS = {zone: changes_of_offset(zone, 2026, 2026) for zone, _ in GAPS}
SHIFTS["Australia/Lord_Howe"].reverse()
#: UTC offset before the gap (s).
OFFSETS = {
    "America/New_York": -5 * 3600,
    "Australia/Lord_Howe": 10 * 3600 + 1800,
    "Antarctica/Troll": 0,
    "Africa/Cairo": 2 * 3600,
}
