"""Exclusions: the times that a schedule leaves out."""

from datetime import datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clockwork.domain.cron.days import month_length
from clockwork.domain.cron.exclude_parser import InvalidExclude, parse_exclude
from clockwork.domain.cron.exclusion import Exclusion, excluded_until
from tests.support.searches import drawn
from tests.unit.domain.cron.expressions import INSTANTS, ZONES
from tests.unit.domain.cron.oracle import Matcher, local_ticks

NEW_YORK = "America/New_York"


def instant(text: str) -> int:
    return int(datetime.fromisoformat(text).timestamp() * 1000)


@pytest.mark.parametrize(
    ("entry", "at", "until"),
    [
        ("2026-12-25", "2026-12-25T00:00-05:00", "2026-12-26T00:00-05:00"),
        ("2026-12-25", "2026-12-24T23:59:59.999-05:00", None),
        ("2026-12-25", "2026-12-26T00:00-05:00", None),
        ("* * 24-26 12 *", "2026-12-25T08:15:30-05:00", "2026-12-26T00:00-05:00"),
        ("* 0-8 * * *", "2026-06-01T07:15:30-04:00", "2026-06-01T09:00-04:00"),
        ("0-29 12 * * *", "2026-06-01T12:10:30-04:00", "2026-06-01T12:30-04:00"),
        ("0 12 * * *", "2026-06-01T12:00:59.999-04:00", "2026-06-01T12:01-04:00"),
        ("0 12 * * *", "2026-06-01T12:01-04:00", None),
        ("0 0 12 * * *", "2026-06-01T12:00:00.500-04:00", "2026-06-01T12:00:01-04:00"),
        ("0 0 12 * * *", "2026-06-01T12:00:01-04:00", None),
        ("@daily", "2026-06-01T00:00:30-04:00", "2026-06-01T00:01-04:00"),
        # On a day with a shift the answer ends at the shift at the latest, so that it cannot jump over free time.
        ("2026-03-08", "2026-03-08T01:00-05:00", "2026-03-08T03:00-04:00"),
        ("2026-03-08", "2026-03-08T03:00-04:00", "2026-03-09T00:00-04:00"),
    ],
)
def test_an_entry_excludes_by_the_clock_of_the_zone(entry: str, at: str, until: str | None) -> None:
    found = excluded_until(parse_exclude([entry]), NEW_YORK, instant(at))
    assert found == (None if until is None else instant(until))


@given(
    st.lists(
        st.sampled_from(["* 0-11 * * *", "0-30 * * * 1-5", "*/2 12-23 * * *", "* * L * *", "5 10 1-20 * *"]),
        max_size=4,
    ),
    ZONES,
    INSTANTS,
)
@settings(max_examples=drawn(60), deadline=None)
def test_all_that_an_answer_spans_is_excluded(entries: list[str], zone: str, at: int) -> None:
    until = excluded_until(parse_exclude(entries), zone, at)
    first = at // 60_000 * 60
    last = first + 60 if until is None else min(until // 1000, first + 36_000)
    matchers = [Matcher(entry) for entry in entries]
    excluded = [
        any(matcher(clock // 60 * 60) for matcher in matchers) for _, clock in local_ticks(zone, first, last, 60)
    ]
    assert excluded == [until is not None] * len(excluded)


def test_several_expressions_exclude_together() -> None:
    exclusion = parse_exclude(["0-29 12 * * *", "30-44 12 * * *", "0-9 0 14 * * *", "10-19 0 14 * * *"])
    assert excluded_until(exclusion, "UTC", instant("2026-06-01T12:00Z")) == instant("2026-06-01T12:45Z")
    assert excluded_until(exclusion, "UTC", instant("2026-06-01T14:00:05Z")) == instant("2026-06-01T14:00:20Z")


def test_a_refusal_lists_every_bad_entry() -> None:
    with pytest.raises(InvalidExclude) as refused:
        parse_exclude(["2026-02-30", "2026-12-25", "0 25 * * *", "nonsense"])
    assert [fault.entry for fault in refused.value.faults] == [0, 2, 3]
    assert "exclude entry 2: hour 25 is out of 0-23 (column 3)" in str(refused.value)
    with pytest.raises(InvalidExclude, match="101 entries, at most 100 are allowed"):
        parse_exclude(["2026-12-25"] * 101)


def test_nothing_excluded_needs_no_zone() -> None:
    assert excluded_until(Exclusion(), "no/zone", 0) is None


def test_february_has_a_leap_day_every_four_years_but_for_centuries_that_400_does_not_divide() -> None:
    lengths = {year: month_length(year, 2) for year in (1999, 2000, 2004, 2023, 2024, 2096, 2100, 2104)}
    assert [year for year, length in lengths.items() if length == 29] == [2000, 2004, 2024, 2096, 2104]
    assert [month_length(2024, month) for month in range(1, 13)] == [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
