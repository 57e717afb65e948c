"""A long stretch of missed fires: its end is found by halves, and its fires are counted, instead of one by one."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import msgspec
import pytest

from clockwork.domain import recurrence as recurrence_rules
from clockwork.domain.cron.exclude_parser import parse_exclude
from clockwork.domain.cron.exclusion import Exclusion, excluded_until
from clockwork.domain.cron.parser import compile_cron
from clockwork.domain.errors import Unavailable
from clockwork.domain.fires import chains
from clockwork.domain.fires.chains import MOST_WALKED, Step, expand, fire_after, first_pointer, last_fire
from clockwork.domain.keys import edge_key
from clockwork.domain.named.changes import paused, replaced, resumed
from clockwork.domain.named_jobs import NamedJob
from clockwork.domain.recurrence import Every, Fire, Recurrence, next_occurrence
from tests.support.examples import NOW
from tests.support.named import Named

DAY_MS = 86_400_000
SCHEDULES = {
    "every second": Recurrence(every=Every(1_000, 0)),
    "with jitter": Recurrence(every=Every(7_000, 500), jitter_seconds=9),
    "so many": Recurrence(every=Every(2_000, 0), max_fires=40_000),
    "that ends": Recurrence(every=Every(3_000, 0), end_at=NOW + DAY_MS // 3),
    "on the clock": Recurrence(cron=compile_cron("*/2 * * * *"), timezone="Europe/Berlin"),
    "but for nights": Recurrence(
        every=Every(5_000, 0), exclude=parse_exclude(["* 0-6 * * *"]), timezone="America/New_York"
    ),
}


def told(step: Step, job: NamedJob) -> Step:
    """The step; the ordinal of its next fire counts only where a number of fires bounds the schedule."""
    recurrence = job.definition.recurrence
    if step.following is None or recurrence is None or recurrence.max_fires is not None:
        return step
    uncounted = msgspec.structs.replace(step.following.fire, ordinal=0)
    return msgspec.structs.replace(step, following=msgspec.structs.replace(step.following, fire=uncounted))


@pytest.mark.parametrize("name", SCHEDULES)
def test_the_last_fire_by_an_instant_is_what_a_walk_finds(name: str) -> None:
    recurrence = SCHEDULES[name]
    few = recurrence if recurrence.max_fires is None else msgspec.structs.replace(recurrence, max_fires=300)
    job = Named(recurrence=few).job
    walk: list[Fire] = []
    fire = fire_after(job, job.chain_after_at, job.chain_ordinal)
    while fire is not None and len(walk) < 400:
        walk.append(fire)
        fire = fire_after(job, fire.base_at, fire.ordinal)
    end_at = walk[-1].due_at + (DAY_MS if few.max_fires is not None else 0)
    for at in [job.chain_after_at, *(one.due_at + ms for one in walk[::37] for ms in (-1, 0, 1)), end_at]:
        found = last_fire(job, at)
        by_walking = max((one for one in walk if one.due_at <= at), key=lambda one: one.base_at, default=None)
        assert (found and (found.base_at, found.due_at)) == (by_walking and (by_walking.base_at, by_walking.due_at))
        if few.max_fires is not None and found is not None and by_walking is not None:
            assert found.ordinal == by_walking.ordinal


@pytest.mark.parametrize("max_fires", [None, 10**9])
def test_the_last_fire_is_found_without_a_look_at_what_lies_behind_it(
    max_fires: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Behind the instant every fire of two weeks is excluded, second by second: a search that went on took seconds."""
    exclude = parse_exclude(["*/2 * * 16-31 11 *"])
    job = Named(recurrence=Recurrence(every=Every(2_000, 0), exclude=exclude, max_fires=max_fires)).job
    searched: list[int] = []

    def counting(exclusion: Exclusion, zone: str, at: int) -> int | None:
        searched.append(at)
        return excluded_until(exclusion, zone, at)

    monkeypatch.setattr(recurrence_rules, "excluded_until", counting)
    november_16 = int(datetime(2023, 11, 16, tzinfo=UTC).timestamp() * 1000)
    found = last_fire(job, november_16 + DAY_MS)
    assert found is not None
    assert found.base_at == november_16 - 2_000
    assert len(searched) == 1


@pytest.mark.long
@pytest.mark.parametrize("catch_up", ["all", "latest", "none"])
@pytest.mark.parametrize("name", SCHEDULES)
@pytest.mark.parametrize("walked", [1, 50])
def test_the_end_of_a_long_stretch_is_what_a_walk_finds(
    name: str, catch_up: str, walked: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = Named(recurrence=SCHEDULES[name], catch_up=catch_up, catch_up_window_seconds=40_000).job
    for skips_until, paused_ms in ((0, DAY_MS // 4), (NOW + DAY_MS // 2 - 40_000_000, DAY_MS // 2)):
        asked_at = NOW + paused_ms if skips_until else NOW
        again = msgspec.structs.replace(job, skips_until=skips_until, asked_at=asked_at)
        pointer = first_pointer(again)
        assert pointer is not None
        for late_ms, ahead_ms in ((0, 60_000), (90_000, 10_000), (200_000, -30_000)):
            now = NOW + paused_ms + late_ms
            horizon = edge_key(now + ahead_ms)
            monkeypatch.setattr(chains, "MOST_WALKED", 10**9)
            by_walking = told(expand(again, pointer, horizon, now, 20), again)
            monkeypatch.setattr(chains, "MOST_WALKED", walked)
            assert told(expand(again, pointer, horizon, now, 20), again) == by_walking


@pytest.mark.parametrize("catch_up", ["latest", "none"])
def test_a_resume_works_out_no_more_fires_after_a_year_than_after_an_hour(
    catch_up: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = Named(every_ms=1_000, catch_up=catch_up)
    named.clockwork.poll_all()
    named.change(paused(None))
    named.clockwork.clock.at += 365 * DAY_MS
    named.clockwork.poll_all()
    worked_out = _counted(monkeypatch)
    named.change(resumed(None))
    assert worked_out() < 3 * MOST_WALKED
    (skipped,) = [one.end.skipped.count for one in named.executions() if one.end.skipped is not None]
    assert 365 * 86_400 - 400 < skipped <= 365 * 86_400


@pytest.mark.parametrize("days", [1, 60])
def test_what_was_told_of_a_long_pause_is_not_walked_through_by_a_repeat(
    days: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = Named(every_ms=1_000)
    named.run(2)
    named.change(paused(None))
    paused_at = named.clockwork.clock.at
    named.clockwork.clock.at += days * DAY_MS
    another = replaced(named.definition(every_ms=15_000), b'"y"')
    with monkeypatch.context() as broken, pytest.raises(Unavailable):
        broken.setattr(named.clockwork.jobs, "save", _refused)
        named.change(another)
    named.clockwork.clock.at += 5_000
    worked_out = _counted(monkeypatch)
    named.change(another)
    assert worked_out() < 1_500
    stretches = [one.end.skipped for one in named.executions() if one.end.skipped]
    told = sorted((one.from_at, one.to_at, one.count) for one in stretches)
    until = paused_at + days * DAY_MS
    long, short = told[-2:]
    assert long == (paused_at + 1_000, until, days * 86_400)
    assert short == (until + 1_000, until + 5_000, 5)


def _refused(*_: object) -> bool:
    raise Unavailable("jobs")


def _counted(monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """How many fires are worked out from now on."""
    worked_out = 0

    def counting(*given: object) -> object:
        nonlocal worked_out
        worked_out += 1
        return next_occurrence(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(chains, "next_occurrence", counting)
    return lambda: worked_out
