"""A second oracle: the library croniter, where it reads an expression as cron does; its differences are listed."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest
from croniter import CroniterBadCronError, CroniterBadDateError, CroniterNotAlphaError, croniter  # type: ignore[import-untyped]
from hypothesis import assume, given, settings

from clockwork.domain.cron.engine import next_fire
from clockwork.domain.cron.parser import compile_cron
from tests.support.searches import drawn
from tests.unit.domain.cron.expressions import FIVE_FIELDS, INSTANTS
from tests.unit.domain.cron.test_agreement import never_fires

#: 2026-01-01 00:00 UTC, a Thursday.
NEW_YEAR = 1_767_225_600_000
#: No pattern of days needs longer to come again (leap days on one weekday, over the year 2100).
YEARS = 41
_ONE_VALUE = re.compile(r"\b(\w+)-\1\b")
#: A weekday with a step and no range.
_STEP_TO_THE_END = re.compile(r"(?<![\w*-])\w+/")
_NAMES = ("JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC", "SUN MON TUE WED THU FRI SAT")
_NUMBERS = {
    name: f"{number}"
    for first, names in zip((1, 0), _NAMES, strict=True)
    for number, name in enumerate(names.split(), first)
}


def theirs(expression: str, at: int) -> int | None:
    """The next fire by croniter (ms). Raises its errors for what it does not read."""
    start = datetime.fromtimestamp(at // 1_000, UTC)
    try:
        found = croniter(expression, start, max_years_between_matches=YEARS).get_next(datetime)
    except CroniterBadDateError:
        return None
    return int(found.timestamp()) * 1_000


def ours(expression: str, at: int) -> int | None:
    """The next fire by the engine (ms)."""
    return None if never_fires(expression) else next_fire(compile_cron(expression), "UTC", at)


def reads_alike(expression: str) -> bool:
    """Whether croniter reads an expression as cron does; the test below has an example of each difference."""
    named = re.sub("[A-Z]{3}", lambda found: _NUMBERS.get(found[0], found[0]), expression)
    days, weekdays = named.split()[-3], named.split()[-1]
    both = "*" not in (days, weekdays) and "?" not in (days, weekdays)
    return not (
        "W" in days
        or "#" in weekdays
        or "L" in weekdays
        or _ONE_VALUE.search(named)
        or _STEP_TO_THE_END.search(weekdays)
        or (both and ("*" in days or "*" in weekdays))
    )


@given(FIVE_FIELDS, INSTANTS)
@settings(max_examples=drawn(300), deadline=None)
def test_the_engine_agrees_with_croniter_away_from_its_known_differences(expression: str, at: int) -> None:
    assume(reads_alike(expression))
    assert (expression, at, ours(expression, at)) == (expression, at, theirs(expression, at))


@pytest.mark.parametrize(
    ("expression", "days_of_ours", "days_of_theirs"),
    [
        # A range of one value is the whole field to croniter.
        ("0 0 5-5 * *", 4, 0),
        # From a weekday on in steps: to cron a week ends with Sunday, the 7, and to croniter with Saturday.
        ("0 0 * * 3/4", 3, 6),
        # cron: beside a star with a step both day fields have to fit (Debian's `*` flag). croniter: either of them.
        ("0 0 */15 * 1", 46, 0),
        # Beside a day of the month croniter wants both an nth weekday and the day, and finds none.
        ("0 0 1 * 5#2", 0, None),
        # Of a weekday and its nth one croniter takes the nth alone.
        ("0 0 * * 0,0#2", 3, 10),
    ],
)
def test_croniter_differs_as_it_is_known_to(expression: str, days_of_ours: int, days_of_theirs: int | None) -> None:
    day_ms = 86_400_000
    assert ours(expression, NEW_YEAR - 1) == NEW_YEAR + days_of_ours * day_ms
    expected = None if days_of_theirs is None else NEW_YEAR + days_of_theirs * day_ms
    assert theirs(expression, NEW_YEAR - 1) == expected


@pytest.mark.parametrize(
    ("expression", "error"),
    [("0 0 LW * *", CroniterNotAlphaError), ("0 0 1W,15W * *", CroniterBadCronError)],
)
def test_croniter_does_not_read_all_weekdays_nearest_to_a_day(expression: str, error: type[Exception]) -> None:
    assert ours(expression, NEW_YEAR) is not None
    with pytest.raises(error):
        theirs(expression, NEW_YEAR)
