"""A chain of fires: intervals and cron, bounds, exclusions and jitter."""

from datetime import datetime
from functools import reduce
from itertools import pairwise
from operator import or_

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clockwork.domain.cron.exclude_parser import parse_exclude
from clockwork.domain.cron.exclusion import ALL_DAY, ExcludedDays, matches_day, seconds_of
from clockwork.domain.cron.parser import compile_cron
from clockwork.domain.recurrence import (
    COST_OF_ENTRY,
    COST_OF_STRETCH,
    MOST_WORK,
    Every,
    Fire,
    Recurrence,
    TooMuchWork,
    Work,
    next_occurrence,
)
from tests.support.searches import drawn

DAY_MS = 86_400_000


def instant(text: str) -> int:
    return int(datetime.fromisoformat(text).timestamp() * 1000)


def chain(recurrence: Recurrence, after_at: int, most: int, ordinal: int = 0) -> list[Fire]:
    fires: list[Fire] = []
    while len(fires) < most:
        fire = next_occurrence(recurrence, after_at, ordinal, "job-1")
        if fire is None:
            break
        fires.append(fire)
        after_at, ordinal = fire.base_at, fire.ordinal
    return fires


@pytest.mark.parametrize(
    ("after_at", "base_at"), [(0, 1_000), (999, 1_000), (1_000, 2_500), (2_499, 2_500), (2_500, 4_000)]
)
def test_an_interval_counts_elapsed_time_from_its_anchor(after_at: int, base_at: int) -> None:
    every = Recurrence(every=Every(every_ms=1_500, anchor_at=1_000))
    assert next_occurrence(every, after_at, 0, "job") == Fire(base_at, base_at, 1)


def test_an_interval_of_a_day_ignores_shifts_and_cron_does_not() -> None:
    start = instant("2026-03-07T12:00-05:00")
    zone = "America/New_York"
    every = chain(Recurrence(every=Every(DAY_MS, start), timezone=zone), start, 2)
    cron = chain(Recurrence(cron=compile_cron("0 12 * * *"), timezone=zone), start, 2)
    assert [fire.base_at - start for fire in every] == [DAY_MS, 2 * DAY_MS]
    assert [fire.base_at - start for fire in cron] == [DAY_MS - 3_600_000, 2 * DAY_MS - 3_600_000]


def test_start_and_end_belong_to_the_schedule() -> None:
    daily = Recurrence(
        cron=compile_cron("@daily"), start_at=instant("2026-05-02T00:00Z"), end_at=instant("2026-05-04T00:00Z")
    )
    fires = chain(daily, instant("2026-01-01T00:00Z"), 10)
    assert [fire.base_at for fire in fires] == [instant(f"2026-05-0{day}T00:00Z") for day in (2, 3, 4)]


def test_max_fires_counts_what_fires_and_not_what_is_excluded() -> None:
    daily = Recurrence(cron=compile_cron("@daily"), max_fires=3, exclude=parse_exclude(["2026-05-02", "* * 4 5 *"]))
    fires = chain(daily, instant("2026-04-30T12:00Z"), 10)
    assert [fire.base_at for fire in fires] == [instant(f"2026-05-0{day}T00:00Z") for day in (1, 3, 5)]
    assert [fire.ordinal for fire in fires] == [1, 2, 3]


def test_a_step_taken_twice_or_resumed_elsewhere_gives_the_same_fire() -> None:
    hourly = Recurrence(cron=compile_cron("@hourly"), jitter_seconds=600, max_fires=100)
    fires = chain(hourly, 0, 20)
    assert chain(hourly, fires[9].base_at, 10, fires[9].ordinal) == fires[10:]


@given(st.sampled_from(["* * * * *", "*/20 * * * * *", "0,1 12 * * *"]), st.integers(1, 86_400), st.text(max_size=20))
@settings(max_examples=drawn(60), deadline=None)
def test_jitter_delays_by_at_most_its_length_and_never_past_the_next_fire(
    expression: str, jitter_seconds: int, job_id: str
) -> None:
    recurrence = Recurrence(cron=compile_cron(expression), jitter_seconds=jitter_seconds)
    at, ordinal, fires = 0, 0, []
    for _ in range(10):
        fire = next_occurrence(recurrence, at, ordinal, job_id)
        assert fire is not None
        assert 0 <= fire.due_at - fire.base_at <= jitter_seconds * 1000
        fires.append(fire)
        at, ordinal = fire.base_at, fire.ordinal
    assert all(earlier.due_at < later.base_at for earlier, later in pairwise(fires))


def test_jitter_spreads_jobs_and_fires_over_its_length() -> None:
    daily = Recurrence(cron=compile_cron("@daily"), jitter_seconds=3_600)
    fires = [next_occurrence(daily, 0, 0, f"job-{number}") for number in range(400)]
    delays = [fire.due_at - fire.base_at for fire in fires if fire]
    assert len(set(delays)) > 390
    assert all(sum(delay // 900_000 == quarter for delay in delays) > 60 for quarter in range(4))


@pytest.mark.parametrize(
    ("every_ms", "exclude"),
    [(1_000, ["* 0-22 * * *"]), (1_000, ["* * * 1-11 *"]), (90_000, ["* * * * 1-6", "2026-05-10"])],
)
def test_long_exclusions_are_passed_over_quickly(every_ms: int, exclude: list[str]) -> None:
    every = Recurrence(every=Every(every_ms, 0), exclude=parse_exclude(exclude))
    fire = next_occurrence(every, instant("2026-05-04T00:00Z"), 0, "job")
    starts = {
        "* 0-22 * * *": "2026-05-04T23:00Z",
        "* * * 1-11 *": "2026-12-01T00:00Z",
        "* * * * 1-6": "2026-05-17T00:00Z",
    }
    assert fire is not None
    assert fire.base_at == instant(starts[exclude[0]])


def test_a_schedule_with_everything_excluded_ends_within_bounded_work() -> None:
    nothing = Recurrence(every=Every(1_000, 0), exclude=parse_exclude(["* 0-11 * * *", "* 12-23 * * *"]))
    assert next_occurrence(nothing, 0, 0, "job") is None


def test_a_recurrence_is_either_an_interval_or_cron() -> None:
    for wrong in ({}, {"every": Every(1_000, 0), "cron": compile_cron("@daily")}):
        with pytest.raises(ValueError, match="either every or cron"):
            Recurrence(**wrong)  # type: ignore[arg-type]


def test_a_recurrence_survives_json() -> None:
    recurrence = Recurrence(
        cron=compile_cron("0 9 * * MON#2"), timezone="Europe/Berlin", exclude=parse_exclude(["2026-12-25", "* * L * *"])
    )
    assert msgspec.json.decode(msgspec.json.encode(recurrence), type=Recurrence) == recurrence


#: A hundred entries which leave nothing of a schedule that fires each minute, or each day.
HUNDRED = [*(f"{minute} * * * *" for minute in range(60)), *(f"{minute} 9 * 1-12 *" for minute in range(40))]


@pytest.mark.parametrize("expression", ["* * * * *", "0 9 * * *", "*/2 * * * * *"])
def test_a_hundred_exclusions_cost_a_bounded_amount_of_work(expression: str, monkeypatch: pytest.MonkeyPatch) -> None:
    recurrence = Recurrence(cron=compile_cron(expression), exclude=parse_exclude(HUNDRED))
    asked: list[int] = []
    until = ExcludedDays.until

    def noted(days: ExcludedDays, zone: str, at: int) -> int | None:
        asked.append(at)
        return until(days, zone, at)

    monkeypatch.setattr(ExcludedDays, "until", noted)
    assert next_occurrence(recurrence, instant("2026-05-04T00:00Z"), 0, "job") is None
    assert len(asked) <= MOST_WORK // (COST_OF_STRETCH + COST_OF_ENTRY * len(HUNDRED))


def test_a_request_may_cause_so_much_work_and_no_more() -> None:
    recurrence = Recurrence(cron=compile_cron("0 9 * * *"), exclude=parse_exclude(["0 9 1-20 * *"]))
    work, at, fires = Work(1_000), instant("2026-05-04T00:00Z"), 0
    with pytest.raises(TooMuchWork, match="take too long"):
        while (fire := next_occurrence(recurrence, at, fires, "job", work)) is not None:
            at, fires = fire.base_at, fire.ordinal
    assert fires > 20


def test_merged_masks_and_single_entries_exclude_the_same() -> None:
    exclusion = parse_exclude([*HUNDRED[:50], "2026-12-25", "* * L * *", "0-9 0 14 * * 1"])
    days = ExcludedDays(exclusion)
    for day in range(20_000, 20_800):
        each = [seconds_of(cron) if matches_day(cron, day) else 0 for cron in exclusion.crons]
        assert days.seconds(day) == (ALL_DAY if day in exclusion.days else reduce(or_, each))
