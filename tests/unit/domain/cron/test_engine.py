"""The cron engine on cases with a known answer: where other libraries surprise, and odd corners of time zones."""

from datetime import datetime
from itertools import pairwise

import pytest

from clockwork.domain.cron.compiled import DayMatch, DstGap, DstOverlap
from clockwork.domain.cron.engine import fires_between, next_fire
from clockwork.domain.cron.parser import compile_cron
from clockwork.domain.cron.zones import UnknownZone, zone_named

NEW_YORK, LONDON, LORD_HOWE, SAO_PAULO = "America/New_York", "Europe/London", "Australia/Lord_Howe", "America/Sao_Paulo"
CAIRO, APIA, CASEY = "Africa/Cairo", "Pacific/Apia", "Antarctica/Casey"


def instant(text: str) -> int:
    """ISO 8601 with an offset -> UTC ms."""
    return int(datetime.fromisoformat(text).timestamp() * 1000)


def local_fires(
    expression: str,
    zone: str,
    after: str,
    until: str,
    dst_gap: DstGap = "run_at_gap_end",
    dst_overlap: DstOverlap = "first",
    day_match: DayMatch = "cron",
) -> list[str]:
    cron = compile_cron(expression, dst_gap=dst_gap, dst_overlap=dst_overlap, day_match=day_match)
    fires = fires_between(cron, zone, instant(after), instant(until))
    return [datetime.fromtimestamp(at // 1000, zone_named(zone)).strftime("%d %H:%M%z")[:-2] for at in fires]


AUTUMN = ("2026-11-01T00:00-04:00", "2026-11-01T05:00-05:00")
SPRING = ("2026-03-08T00:00-05:00", "2026-03-08T05:00-04:00")
SHIFTS = [
    # A fixed time that the clock shows twice runs once, on the first pass.
    ("30 1 * * *", NEW_YORK, *AUTUMN, ["01 01:30-04"]),
    ("0 1-3 * * *", NEW_YORK, *AUTUMN, ["01 01:00-04", "01 02:00-05", "01 03:00-05"]),
    (
        "5-55/25 1,2 * * *",
        NEW_YORK,
        *AUTUMN,
        ["01 01:05-04", "01 01:30-04", "01 01:55-04", "01 02:05-05", "01 02:30-05", "01 02:55-05"],
    ),
    ("30 1 * * *", LONDON, "2026-10-25T00:00+01:00", "2026-10-25T05:00+00:00", ["25 01:30+01"]),
    ("0 22-23 * * *", SAO_PAULO, "2018-02-17T21:00-02:00", "2018-02-18T05:00-03:00", ["17 22:00-02", "17 23:00-02"]),
    ("0 22-23 * * *", CAIRO, "2026-10-29T21:00+03:00", "2026-10-30T05:00+02:00", ["29 22:00+03", "29 23:00+03"]),
    # A schedule created or resumed in the second pass of an overlap does not fire in it, nor in the past.
    ("30 1 * * *", NEW_YORK, "2026-11-01T01:15-05:00", "2026-11-03T00:00-05:00", ["02 01:30-05"]),
    # A schedule with a starred minute or hour follows the clock: it invents nothing in a gap and repeats in an overlap.
    ("0 */2 * * *", NEW_YORK, *SPRING, ["08 04:00-04"]),
    ("30 */2 * * *", NEW_YORK, *SPRING, ["08 00:30-05", "08 04:30-04"]),
    ("*/20 2 * * *", NEW_YORK, *SPRING, []),
    ("*/15 1 * * *", LONDON, "2026-03-29T00:00+00:00", "2026-03-29T05:00+01:00", []),
    ("0 */2 * * *", LORD_HOWE, "2026-10-04T00:00+10:30", "2026-10-04T05:00+11:00", ["04 04:00+11"]),
    ("0 */3 * * *", SAO_PAULO, "2017-10-14T22:00-03:00", "2017-10-15T05:00-02:00", ["15 03:00-02"]),
    (
        "*/30 * * * *",
        NEW_YORK,
        "2026-11-01T01:00-04:00",
        "2026-11-01T02:00-05:00",
        ["01 01:30-04", "01 01:00-05", "01 01:30-05"],
    ),
    # Shifts of half an hour.
    (
        "*/7 1 * * *",
        LORD_HOWE,
        "2026-04-05T01:34+11:00",
        "2026-04-05T02:00+10:30",
        [
            "05 01:35+11",
            "05 01:42+11",
            "05 01:49+11",
            "05 01:56+11",
            "05 01:35+10",
            "05 01:42+10",
            "05 01:49+10",
            "05 01:56+10",
        ],
    ),
    (
        "30 * * * *",
        LORD_HOWE,
        "2026-04-05T01:00+11:00",
        "2026-04-05T03:00+10:30",
        ["05 01:30+11", "05 01:30+10", "05 02:30+10"],
    ),
    (
        "30 * * * *",
        LORD_HOWE,
        "2026-10-04T01:00+10:30",
        "2026-10-04T04:00+11:00",
        ["04 01:30+10", "04 02:30+11", "04 03:30+11"],
    ),
    ("15 2 * * *", LORD_HOWE, "2026-10-04T00:00+10:30", "2026-10-04T05:00+11:00", ["04 02:30+11"]),
    # A fixed time in a gap fires once, right after the gap; several fixed times in one gap fire there together, once.
    ("30 2 * * *", NEW_YORK, *SPRING, ["08 03:00-04"]),
    ("0,30 2 * * *", NEW_YORK, *SPRING, ["08 03:00-04"]),
    ("30 2,3 * * *", NEW_YORK, *SPRING, ["08 03:00-04", "08 03:30-04"]),
    ("30 2 8 3 *", NEW_YORK, *SPRING, ["08 03:00-04"]),
    ("0 0 * * *", SAO_PAULO, "2017-10-14T12:00-03:00", "2017-10-16T12:00-02:00", ["15 01:00-02", "16 00:00-02"]),
    ("0 0 * * SUN", SAO_PAULO, "2017-10-14T12:00-03:00", "2017-10-16T12:00-02:00", ["15 01:00-02"]),
    # Shifts of up to three hours are caught up with or waited for; after a shift of a whole day the time is simply new.
    ("30 5 * * *", CASEY, "2018-10-06T12:00+08:00", "2018-10-08T00:00+11:00", ["07 07:00+11"]),
    ("30 3 * * *", CASEY, "2018-03-10T12:00+11:00", "2018-03-12T00:00+08:00", ["11 03:30+11"]),
    ("0 12 * * *", APIA, "2011-12-29T00:00-10:00", "2012-01-01T00:00+14:00", ["29 12:00-10", "31 12:00+14"]),
    ("0 * 30 12 *", APIA, "2011-12-29T00:00-10:00", "2012-01-01T00:00+14:00", []),
    # The field of seconds does not decide it: a fixed minute and hour make a fixed time.
    ("30 15 2 * * *", NEW_YORK, *SPRING, ["08 03:00-04"]),
    ("*/20 15 2 * * *", NEW_YORK, *SPRING, ["08 03:00-04"]),
    ("*/30 15 1 * * *", NEW_YORK, *AUTUMN, ["01 01:15-04", "01 01:15-04"]),
    ("0 30 * * * *", NEW_YORK, "2026-11-01T01:00-04:00", "2026-11-01T02:00-05:00", ["01 01:30-04", "01 01:30-05"]),
]


@pytest.mark.parametrize(("expression", "zone", "after", "until", "expected"), SHIFTS)
def test_a_shift_of_the_clock_is_met_as_debian_does(
    expression: str, zone: str, after: str, until: str, expected: list[str]
) -> None:
    assert local_fires(expression, zone, after, until) == expected


@pytest.mark.parametrize(
    ("gap", "overlap", "spring", "autumn"),
    [
        ("run_at_gap_end", "first", ["08 03:00-04"], ["01 01:30-04"]),
        ("run_at_gap_end", "second", ["08 03:00-04"], ["01 01:30-05"]),
        ("skip", "both", [], ["01 01:30-04", "01 01:30-05"]),
    ],
)
def test_the_options_decide_about_fixed_times(
    gap: DstGap, overlap: DstOverlap, spring: list[str], autumn: list[str]
) -> None:
    assert local_fires("30 2 * * *", NEW_YORK, *SPRING, gap, overlap) == spring
    assert local_fires("30 1 * * *", NEW_YORK, *AUTUMN, gap, overlap) == autumn
    assert len(local_fires("30 * * * *", NEW_YORK, *AUTUMN, gap, overlap)) == 6


@pytest.mark.parametrize(
    ("expression", "day_match", "until", "expected"),
    [
        # If the day or weekday field starts with a star, with steps or not, both must match; otherwise one is enough.
        ("0 0 */2 * 1", "cron", "2026-02-01", ["05", "19"]),
        ("0 0 1-7 * */7", "cron", "2026-03-01", ["04", "01", "01"]),
        ("0 0 13 * FRI", "cron", "2026-01-17", ["02", "09", "13", "16"]),
        ("0 0 13 * FRI", "and", "2026-04-01", ["13", "13"]),
        ("0 0 */16 * MON", "or", "2026-01-18", ["01", "05", "12", "17"]),
        ("0 0 * * MON", "or", "2026-01-13", ["05", "12"]),
        ("0 0 ? * MON#1", "or", "2026-03-01", ["05", "02"]),
        ("0 0 15W,LW * ?", "cron", "2026-04-01", ["15", "30", "16", "27", "16", "31"]),
        ("0 0 1W,31W * *", "cron", "2026-03-31", ["01", "30", "02", "02", "31"]),
        ("0 0 L * 5L", "cron", "2026-03-01", ["30", "31", "27", "28"]),
        ("0 0 29 * MON#5", "cron", "2026-04-01", ["29", "29", "30"]),
    ],
)
def test_days_match_by_date_and_weekday(expression: str, day_match: DayMatch, until: str, expected: list[str]) -> None:
    found = local_fires(expression, "UTC", "2025-12-31T12:00+00:00", f"{until}T12:00+00:00", day_match=day_match)
    assert [fire[:2] for fire in found] == expected


def test_a_leap_day_is_found_across_2096_and_the_century() -> None:
    cron = compile_cron("0 0 29 2 *")
    at, years = instant("2088-03-01T00:00+00:00"), []
    for _ in range(3):
        found = next_fire(cron, LONDON, at)
        assert found is not None
        at = found
        years.append(datetime.fromtimestamp(at // 1000, zone_named(LONDON)).year)
    assert years == [2092, 2096, 2104]


def test_what_fires_once_in_28_years_is_found_from_the_fire_before() -> None:
    cron = compile_cron("0 0 29 2 MON", day_match="and")
    assert next_fire(cron, "UTC", instant("2044-02-29T00:00+00:00")) == instant("2072-02-29T00:00+00:00")
    assert next_fire(cron, "UTC", instant("2072-02-29T00:00+00:00")) is None


def test_a_schedule_that_the_zone_always_skips_ends_within_bounded_work() -> None:
    cron = compile_cron("30 2 8-14 3 SUN", dst_gap="skip", day_match="and")
    assert next_fire(cron, NEW_YORK, instant("2026-01-01T00:00+00:00")) is None
    assert next_fire(cron, "UTC", instant("2026-01-01T00:00+00:00")) == instant("2026-03-08T02:30+00:00")


def test_the_next_fire_is_a_later_whole_second() -> None:
    cron = compile_cron("* * * * * *")
    assert [next_fire(cron, "UTC", at) for at in (999, 1000, 1001, -5_000)] == [1000, 2000, 2000, 0]


def test_new_york_fires_once_a_day_until_2099() -> None:
    cron = compile_cron("30 2 * * *")
    fires = list(fires_between(cron, NEW_YORK, instant("2090-01-01T00:00-05:00"), instant("2099-12-31T23:59-05:00")))
    days = [datetime.fromtimestamp(at // 1000, zone_named(NEW_YORK)).toordinal() for at in fires]
    assert len(fires) == 3652
    assert all(later == earlier + 1 for earlier, later in pairwise(days))


def test_of_a_long_name_of_no_zone_only_the_beginning_is_told() -> None:
    with pytest.raises(UnknownZone) as refused:
        zone_named("x" * 5_000)
    assert str(refused.value).count("x") == 64


@pytest.mark.parametrize(
    "zone",
    ["", "Mars/Olympus", "../UTC", "america\0", "America", "x" * 5000, "\udcff", "localtime", "right/UTC"],
)
def test_an_unknown_zone_is_refused_by_name(zone: str) -> None:
    with pytest.raises(UnknownZone, match="use an IANA name such as Europe/Berlin or UTC"):
        next_fire(compile_cron("0 0 * * *"), zone, 0)
