"""How close two fires come: the judgement agrees with the fires themselves, and its work is bounded."""

from __future__ import annotations

import time
from datetime import UTC, date, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clockwork.domain.cron.parser import compile_cron
from clockwork.domain.cron.spacing import fires_closer_than
from clockwork.domain.recurrence import Recurrence, next_occurrence
from tests.support.searches import drawn

TODAY = date(2026, 5, 5)
START = int(datetime(2026, 5, 1, tzinfo=UTC).timestamp() * 1000)
END = int(datetime(2034, 5, 1, tzinfo=UTC).timestamp() * 1000)
HOUR, DAY = 3_600, 86_400


@pytest.mark.parametrize(
    ("expression", "closest"),
    [
        ("* * * * * *", 1),
        ("*/15 * * * * *", 15),
        ("* * * * *", 60),
        ("59 * * * *", HOUR),
        ("0,10 3 * * *", 600),
        ("0 9,17 * * *", 8 * HOUR),
        ("0 0,23 * * *", HOUR),  # over midnight
        ("0 0,23 * * 1", 23 * HOUR),  # no midnight between two days that match
        ("59 23,0 1 * *", 23 * HOUR),
        ("0 3 * * *", DAY),
        ("0 3 * * 1-5", DAY),
        ("0 3 * * 1,4", 3 * DAY),
        ("0 3 * * 1", 7 * DAY),
        ("0 3 1 * *", 28 * DAY),
        ("0 3 28,1 * *", DAY),  # the 28th of February and the first of March
        ("0 3 29,1 * *", DAY),
        ("0 3 31 * *", 31 * DAY),
        ("0 3 L * *", 28 * DAY),
        ("0 3 29 2 *", 1461 * DAY),
        ("0 3 1 1 *", 365 * DAY),
        ("0 3 31 12 *", 365 * DAY),
        ("0 3 * * 5#1", 28 * DAY),
    ],
)
def test_the_closest_fires_of_an_expression(expression: str, closest: int) -> None:
    cron = compile_cron(expression)
    assert not fires_closer_than(cron, closest, TODAY)
    assert fires_closer_than(cron, closest + 1, TODAY)


FIELDS = st.tuples(
    st.sampled_from(("0", "0,30", "*/20", "59")),
    st.sampled_from(("0", "0,23", "*/6", "9-17", "3")),
    st.sampled_from(("*", "1", "1,31", "13", "L", "28", "15W")),
    st.sampled_from(("*", "2", "2,3", "1-6", "12,1")),
    st.sampled_from(("*", "1", "1-5", "0,6", "5#1", "3L")),
)


@settings(max_examples=drawn(40), deadline=None)
@given(FIELDS, st.integers(0, 30 * DAY))
def test_the_judgement_is_that_of_the_fires_of_eight_years(fields: tuple[str, ...], slack: int) -> None:
    cron = compile_cron(" ".join(fields))
    closest = closest_fires(Recurrence(cron=cron, timezone="UTC"))
    if closest is not None:
        assert not fires_closer_than(cron, min(closest, slack + 1), TODAY)
        assert fires_closer_than(cron, closest + 1 + slack, TODAY)


def closest_fires(recurrence: Recurrence) -> int | None:
    """The least seconds between two fires in eight years, found fire by fire; None if there are not two."""
    at, before, closest = START - 1, None, None
    while (fire := next_occurrence(recurrence, at, 0, "")) is not None and fire.base_at < END:
        at = fire.base_at
        if before is not None:
            closest = min(at - before, closest or at)
        before = at
    return closest and closest // 1000


@pytest.mark.parametrize(
    "expression", ["* * * * * *", "*/2 * * * * *", "0 0 3 29 2 *", "0 0 3 * * 1", "59 59 23 L 2 *"]
)
@pytest.mark.parametrize("seconds", [2, 61, DAY, 31_536_000])
def test_the_work_is_bounded(expression: str, seconds: int) -> None:
    cron = compile_cron(expression)
    fires_closer_than(cron, seconds, TODAY)
    began = time.process_time()
    for _ in range(20):
        fires_closer_than(cron, seconds, TODAY)
    assert (time.process_time() - began) / 20 < 0.005


def test_an_expression_without_a_day_in_eight_years_has_no_fires_that_come_close() -> None:
    # A February has a fifth Monday if its 29th is one: in 2044, and not in the eight years from 2026 on.
    minutely = compile_cron("* * * 2 1#5")
    assert not fires_closer_than(minutely, HOUR, TODAY)
    assert fires_closer_than(minutely, HOUR, date(2040, 5, 5))
    assert not fires_closer_than(minutely, 60, date(2040, 5, 5))
