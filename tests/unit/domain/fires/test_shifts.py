"""Fires that a shift of the clock touches, and schedules in words."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import islice
from typing import Any

import pytest

from clockwork.domain.cron.parser import compile_cron
from clockwork.domain.fires.shifts import shift_at
from clockwork.domain.fires.words import in_words
from clockwork.domain.recurrence import Every, Fire, Recurrence, next_occurrence


def fires(recurrence: Recurrence, after: str) -> list[Fire]:
    found, at, ordinal = list[Fire](), int(datetime.fromisoformat(after).replace(tzinfo=UTC).timestamp() * 1000), 0
    while (fire := next_occurrence(recurrence, at, ordinal, "j")) is not None and len(found) < 5:
        found.append(fire)
        at, ordinal = fire.base_at, fire.ordinal
    return found


def marks(expression: str, after: str, zone: str = "Europe/Berlin", **options: Any) -> list[str | None]:
    """The marks of the next five fires."""
    recurrence = Recurrence(cron=compile_cron(expression, **options), timezone=zone)
    return [shift_at(recurrence, fire.base_at) for fire in islice(fires(recurrence, after), 5)]


@pytest.mark.parametrize(
    ("expression", "after", "marked"),
    [
        # The clock goes from 02:00 to 03:00 on 29 March 2026, and from 03:00 to 02:00 on 25 October.
        ("30 2 * * *", "2026-03-27T12:00", [None, "gap", None, None, None]),
        ("0 3 * * *", "2026-03-27T12:00", [None, None, None, None, None]),
        ("30 2 * * *", "2026-10-23T12:00", [None, "overlapFirst", None, None, None]),
        ("0 2,3 * * *", "2026-03-28T12:00", ["gap", None, None, None, None]),
        ("30 * * * *", "2026-10-24T23:00", [None, "overlapFirst", "overlapSecond", None, None]),
        ("*/30 * * * *", "2026-03-29T00:00", [None, None, None, None, None]),
        ("0 12 * * *", "2026-10-24T12:00", [None] * 5),
    ],
)
def test_a_fire_is_marked_if_its_time_is_skipped_or_comes_twice(
    expression: str, after: str, marked: list[str | None]
) -> None:
    assert marks(expression, after) == marked


def test_the_options_decide_which_of_two_passes_fires() -> None:
    after = "2026-10-23T12:00"
    assert marks("30 2 * * *", after, dst_overlap="second")[:3] == [None, "overlapSecond", None]
    assert marks("30 2 * * *", after, dst_overlap="both")[:3] == [None, "overlapFirst", "overlapSecond"]
    assert set(marks("30 2 * * *", "2026-03-27T12:00", dst_gap="skip")) == {None}


def test_a_shift_of_half_an_hour_is_seen() -> None:
    assert marks("15 2 * * *", "2026-10-02T16:00", "Australia/Lord_Howe") == ["gap", None, None, None, None]
    assert marks("45 1 * * *", "2026-04-03T16:00", "Australia/Lord_Howe") == ["overlapFirst", None, None, None, None]


def test_zones_without_shifts_intervals_and_lone_instants_have_no_marks() -> None:
    assert set(marks("30 2 * * *", "2026-03-27T12:00", "Asia/Kolkata")) == {None}
    assert shift_at(Recurrence(every=Every(60_000, 0)), 0) is None
    assert shift_at(None, 0) is None


@pytest.mark.parametrize(
    ("recurrence", "words"),
    [
        (None, "Once."),
        (Recurrence(every=Every(1_000, 0)), "Every second."),
        (Recurrence(every=Every(90_000, 0)), "Every 90 seconds."),
        (Recurrence(every=Every(120_000, 0)), "Every 2 minutes."),
        (Recurrence(every=Every(86_400_000, 0)), "Every day."),
        (Recurrence(every=Every(500, 0)), "Every 0.5 seconds."),
        (Recurrence(cron=compile_cron("*/2 * * * *")), "Every 2 minutes."),
    ],
)
def test_each_schedule_has_a_sentence(recurrence: Recurrence | None, words: str) -> None:
    assert in_words(recurrence) == words
