"""The engine agrees with the brute-force oracle everywhere, and with the library cronsim where cronsim is right."""

import re
from datetime import UTC, datetime
from functools import lru_cache
from zoneinfo import ZoneInfo

import pytest
from cronsim import CronSim, CronSimError
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from clockwork.domain.cron.compiled import DayMatch
from clockwork.domain.cron.engine import fires_between, next_fire
from clockwork.domain.cron.invalid import InvalidCron
from clockwork.domain.cron.parser import compile_cron
from tests.support.searches import drawn
from tests.unit.domain.cron.agreement import EXPRESSIONS as SAMPLE
from tests.unit.domain.cron.agreement import OPTIONS, disagreements
from tests.unit.domain.cron.expressions import EXPRESSIONS, FIVE_FIELDS, INSTANTS, SIX_FIELDS
from tests.unit.domain.cron.oracle import Matcher, changes_of_offset, debian_fires, local_ticks

DAY = 86_400
ODD_ZONES = [
    ("America/New_York", 2026),
    ("Europe/Dublin", 2026),
    ("Australia/Lord_Howe", 2026),
    ("America/Sao_Paulo", 2017),
    ("Pacific/Apia", 2011),
    ("Antarctica/Casey", 2018),
    ("Antarctica/Troll", 2026),
    ("Africa/Casablanca", 2026),
    ("Asia/Pyongyang", 2015),
    ("America/Caracas", 2016),
]


@pytest.mark.long
@pytest.mark.parametrize(("zone", "year"), ODD_ZONES)
def test_the_engine_agrees_with_the_oracle_around_every_shift_of_odd_years(zone: str, year: int) -> None:
    changes = changes_of_offset(zone, year, year)
    assert changes
    for change in changes:
        assert list(disagreements(zone, change, SAMPLE, OPTIONS)) == []


@pytest.mark.long
@given(EXPRESSIONS, st.sampled_from(ODD_ZONES), st.integers(0, 3), st.sampled_from(OPTIONS))
@settings(max_examples=drawn(200), deadline=None)
def test_the_engine_agrees_with_the_oracle_on_random_expressions_around_shifts(
    expression: str, zone_and_year: tuple[str, int], which: int, options: tuple[str, str]
) -> None:
    zone, year = zone_and_year
    changes = changes_of_shift(zone, year)
    assume(not never_fires(expression))
    assert list(disagreements(zone, changes[which % len(changes)], [expression], [options])) == []


@given(FIVE_FIELDS, INSTANTS, st.sampled_from(["cron", "and", "or"]))
@settings(max_examples=drawn(150), deadline=None)
def test_the_engine_finds_the_days_that_the_oracle_finds(expression: str, at: int, day_match: DayMatch) -> None:
    assume(not never_fires(expression, day_match))
    day = at // 1000 // DAY * DAY
    cron, matcher = compile_cron(expression, day_match=day_match), Matcher(expression, day_match)
    found = next_fire(cron, "UTC", day * 1000 - 1)
    first = day + min(matcher.times)
    expected = next((start for start in range(first, first + 800 * DAY, DAY) if matcher(start)), None)
    if expected is None:
        assert found is None or found >= (first + 800 * DAY) * 1000
    else:
        assert found == expected * 1000


@pytest.mark.long
@given(SIX_FIELDS, st.sampled_from(["America/New_York", "Australia/Lord_Howe"]))
@settings(max_examples=drawn(12), deadline=None)
def test_seconds_agree_with_the_oracle_through_a_shift(expression: str, zone: str) -> None:
    assume(not never_fires(expression))
    for change in changes_of_shift(zone, 2026):
        first, last = change - 3 * 3600, change + 2 * 3600
        expected = debian_fires(Matcher(expression), local_ticks(zone, first, last, 1))
        found = fires_between(compile_cron(expression), zone, first * 1000 - 1, last * 1000)
        assert [at // 1000 for at in found] == expected


@given(FIVE_FIELDS, INSTANTS, st.sampled_from(["UTC", "America/New_York", "Europe/London", "Asia/Kathmandu"]))
@settings(max_examples=drawn(300), deadline=None)
def test_the_engine_agrees_with_cronsim_away_from_its_known_defects(expression: str, at: int, zone: str) -> None:
    assume("W" not in expression.replace("WED", "").replace("LW", "") and "?" not in expression)
    assume(all(f"L{digit}" not in expression for digit in "0123456789") and "FRIL" not in expression)
    # cronsim reads a step on a range of one value as a step from that value to the end.
    assume(not re.search(r"\b(\d+)-\1/", expression))
    start = datetime.fromtimestamp(at // 1000, UTC).astimezone(ZoneInfo(zone))
    # cronsim loses the second pass of an overlap and can answer with a time in the past from within it.
    assume(start.fold == 0)
    try:
        expected: datetime | None = next(CronSim(expression, start))
    except (CronSimError, StopIteration):
        expected = None
    if never_fires(expression):
        assert expected is None
        return
    found = next_fire(compile_cron(expression), zone, at)
    if expected is None:
        assert found is None
    else:
        assert found == int(expected.timestamp()) * 1000


@lru_cache(None)
def changes_of_shift(zone: str, year: int) -> list[int]:
    return changes_of_offset(zone, year, year)


def never_fires(expression: str, day_match: DayMatch = "cron") -> bool:
    try:
        compile_cron(expression, day_match=day_match)
    except InvalidCron as refused:
        assert all("never fires" in fault.detail for fault in refused.faults), refused
        return True
    return False
