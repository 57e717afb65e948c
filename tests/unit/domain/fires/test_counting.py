"""Counting fires day by day agrees with walking through them one by one."""

from datetime import datetime
from itertools import islice
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clockwork.domain import recurrence as recurrences
from clockwork.domain.cron.compiled import CompiledCron
from clockwork.domain.cron.exclude_parser import parse_exclude
from clockwork.domain.cron.exclusion import Exclusion
from clockwork.domain.cron.parser import compile_cron
from clockwork.domain.fires.counting import count_fires, last_base, nth_base
from clockwork.domain.recurrence import Every, Recurrence, next_occurrence
from tests.support.searches import drawn
from tests.unit.domain.cron.expressions import INSTANTS, ZONES
from tests.unit.domain.cron.oracle import changes_of_offset
from tests.unit.domain.cron.test_properties import SCHEDULES

DAY_MS = 86_400_000
MOST_WALKED = 120

EXCLUDES = st.lists(
    st.sampled_from(
        ["* * * * 1-3", "* 0-11 * * *", "*/2 12-23 * * *", "* * L * *", "0,30 * * * * *", "0 2-3 * * *", "* * * 1-6 *"]
    ),
    max_size=3,
).map(parse_exclude)
EVERIES = st.builds(
    Every,
    st.integers(1_000, 5_000) | st.integers(1_000, 3 * DAY_MS) | st.sampled_from([1_000, 1_500, 60_000, DAY_MS]),
    INSTANTS,
)
BOUNDS = st.none() | INSTANTS


def walked(recurrence: Recurrence, after_at: int, most: int) -> list[int]:
    instants: list[int] = []
    fire = next_occurrence(recurrence, after_at, 0, "job")
    while fire is not None and len(instants) < most:
        instants.append(fire.base_at)
        fire = next_occurrence(recurrence, fire.base_at, 0, "job")
    return instants


def agrees(recurrence: Recurrence, after_at: int) -> None:
    """Assert that counts up to a fire, to just before it and from it on agree with the walk from `after_at`."""
    instants = walked(recurrence, after_at, MOST_WALKED)
    for number, at in islice(enumerate(instants, 1), 0, None, 23):
        assert count_fires(recurrence, after_at, at) == number
        assert count_fires(recurrence, after_at, at - 1) == number - 1
        assert count_fires(recurrence, at, instants[-1]) == len(instants) - number
        assert last_base(recurrence, after_at, at) == nth_base(recurrence, after_at, number) == at
        assert last_base(recurrence, after_at, at - 1) == (instants[number - 2] if number > 1 else None)
    assert count_fires(recurrence, after_at, after_at) == count_fires(recurrence, after_at + 1, after_at) == 0
    assert last_base(recurrence, after_at, after_at) is None


@pytest.mark.long
@given(SCHEDULES, ZONES, EXCLUDES, INSTANTS, BOUNDS)
@settings(max_examples=drawn(60), deadline=None)
def test_cron_schedules(cron: CompiledCron, zone: str, exclude: Exclusion, at: int, end_at: int | None) -> None:
    agrees(Recurrence(cron=cron, timezone=zone, exclude=exclude, start_at=at + 7_001, end_at=end_at), at)


@pytest.mark.long
@given(SCHEDULES, st.sampled_from(["America/New_York", "Australia/Lord_Howe", "Pacific/Apia"]), EXCLUDES, st.data())
@settings(max_examples=drawn(60), deadline=None)
def test_cron_schedules_around_shifts(cron: CompiledCron, zone: str, exclude: Exclusion, data: st.DataObject) -> None:
    shift = data.draw(st.sampled_from(changes_of_offset(zone, 2009, 2026)))
    before_ms = data.draw(st.integers(-7_200_000, DAY_MS))
    agrees(Recurrence(cron=cron, timezone=zone, exclude=exclude), shift * 1000 - before_ms)


@pytest.mark.long
@given(EVERIES, ZONES, EXCLUDES, INSTANTS, BOUNDS, BOUNDS)
@settings(max_examples=drawn(60), deadline=None)
def test_intervals(
    every: Every, zone: str, exclude: Exclusion, at: int, start_at: int | None, end_at: int | None
) -> None:
    recurrence = Recurrence(every=every, timezone=zone, exclude=exclude, start_at=start_at, end_at=end_at)
    agrees(recurrence, at)
    agrees(recurrence, every.anchor_at - 1)


def test_an_excluded_gap_end_is_not_counted() -> None:
    nightly = Recurrence(cron=compile_cron("30 2 * * *"), timezone="America/New_York")
    start_at = int(datetime.fromisoformat("2026-03-07T12:00-05:00").timestamp() * 1000)
    assert count_fires(nightly, start_at, start_at + DAY_MS) == 1
    for entry, count in {"0 3 * * *": 0, "30 2 * * *": 1}.items():
        recurrence = Recurrence(cron=nightly.cron, timezone=nightly.timezone, exclude=parse_exclude([entry]))
        assert count_fires(recurrence, start_at, start_at + DAY_MS) == count


@pytest.mark.parametrize("exclude", [[], ["* 0-5 * * *", "2026-12-25"]])
@pytest.mark.parametrize(
    "kind", [{"every": Every(1_000, 0)}, {"cron": compile_cron("* * * * * *"), "timezone": "Europe/Berlin"}]
)
def test_twenty_years_of_seconds_are_counted_without_a_walk(
    kind: dict[str, Any], exclude: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    recurrence = Recurrence(**kind, exclude=parse_exclude(exclude), max_fires=10**9)
    monkeypatch.setattr(recurrences, "_next_base", None)
    days = 20 * 365
    counted = count_fires(recurrence, 0, days * DAY_MS)
    assert counted == days * 86_400 if not exclude else days * 64_000 < counted < days * 65_000
