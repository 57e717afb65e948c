"""A pointer that was put by other rules of its job's zone: what its reader makes of it."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from clockwork.domain.cron.parser import compile_cron
from clockwork.domain.cron.zones import Rules, ruled_by
from clockwork.domain.fires.backfills import fires_of_range, plan_backfill
from clockwork.domain.fires.chains import Step, expand, first_pointer
from clockwork.domain.keys import edge_key
from clockwork.domain.named_jobs import NamedJob, Pointer
from clockwork.domain.recurrence import Every, Recurrence
from clockwork.domain.storage.codec import decode_row
from clockwork.domain.storage.rows import pointer_row
from tests.support.named import Named
from tests.support.zones import TOWN, town

#: Every job begins here (ms): 22:13:20 UTC. It fires at minute 30 of each hour of the town.
START = 1_700_000_000_000
MINUTE = 60_000
BEFORE = town(0)


def a_job(expression: str = "30 * * * *", **changes: Any) -> NamedJob:
    wanted = {name: changes.pop(name) for name in ("max_fires", "jitter_seconds") if name in changes}
    recurrence = Recurrence(cron=compile_cron(expression), timezone=TOWN, **wanted)
    with ruled_by(BEFORE):
        return Named(recurrence=recurrence, **changes).job


def pointer_of(job: NamedJob, rules: Rules = BEFORE) -> Pointer:
    """The pointer to the job's first fire by some rules, as a poller reads it."""
    with ruled_by(rules):
        pointer = first_pointer(job)
    assert pointer is not None
    (read,) = decode_row(pointer_row(job, pointer, START * 2).blob).values()
    assert read == pointer
    return pointer


def read(job: NamedJob, pointer: Pointer, rules: Rules, *, now: int, horizon: int, limit: int = 500) -> Step:
    with ruled_by(rules):
        return expand(job, pointer, edge_key(horizon), now, limit)


def minutes(step: Step) -> list[float]:
    """When the fires of a step are due, in minutes since the hour in which the job began."""
    return [minute_of(release.occurrence.due_at) for release in step.releases]


def minute_of(at: int) -> float:
    return (at - START + 13 * MINUTE + 20_000) / MINUTE


def next_minute(step: Step) -> float:
    assert step.following is not None
    return minute_of(step.following.fire.due_at)


def at_minute(minute: float) -> int:
    return START - 13 * MINUTE - 20_000 + int(minute * MINUTE)


def test_where_the_rules_are_as_before_the_pointer_fires() -> None:
    job = a_job()
    step = read(job, pointer_of(job), town(0), now=at_minute(29), horizon=at_minute(43))
    assert (minutes(step), next_minute(step)) == ([30], 90)


def test_the_fire_came_to_lie_later_so_nothing_fires_and_the_pointer_moves_there() -> None:
    job = a_job()
    step = read(job, pointer_of(job), town(-20), now=at_minute(29), horizon=at_minute(43))
    assert (minutes(step), next_minute(step), step.skipped) == ([], 50, None)


def test_the_fire_came_to_lie_earlier_and_is_to_come_so_it_fires_there() -> None:
    job = a_job()
    step = read(job, pointer_of(job), town(4), now=at_minute(20), horizon=at_minute(34))
    assert (minutes(step), next_minute(step)) == ([26], 86)


@pytest.mark.parametrize(("catch_up", "fired", "skipped"), [("latest", [24], 0), ("all", [24], 0), ("none", [], 1)])
def test_the_fire_came_to_lie_behind_so_catch_up_decides(catch_up: str, fired: list[float], skipped: int) -> None:
    job = a_job(catch_up=catch_up)
    step = read(job, pointer_of(job), town(6), now=at_minute(26), horizon=at_minute(40))
    assert (minutes(step), next_minute(step)) == (fired, 84)
    assert (0 if step.skipped is None else step.skipped.count) == skipped


def test_a_fire_of_the_same_instant_stays_though_the_rules_of_other_times_changed() -> None:
    job = a_job()
    step = read(job, pointer_of(job), town(0, 20, at_minute(60)), now=at_minute(29), horizon=at_minute(43))
    assert (minutes(step), next_minute(step)) == ([30], 70)


def test_what_fired_before_the_base_of_the_pointer_is_not_asked_again() -> None:
    job = a_job()
    first = read(job, pointer_of(job), BEFORE, now=at_minute(29), horizon=at_minute(43))
    assert first.following is not None
    later = read(job, first.following, town(-20), now=at_minute(89), horizon=at_minute(103))
    assert (minutes(later), next_minute(later)) == ([50], 110)
    earlier = read(job, first.following, town(10), now=at_minute(89), horizon=at_minute(103))
    assert (minutes(earlier), next_minute(earlier)) == ([80], 140)


def test_a_stale_pointer_and_a_repaired_one_meet_at_one_key() -> None:
    job, after = a_job(max_fires=5), town(-20)
    stale = read(job, pointer_of(job), after, now=at_minute(29), horizon=at_minute(43)).following
    repaired = pointer_of(job, after)
    assert stale == repaired
    assert stale is not None
    assert stale.key == repaired.key


def test_the_fires_that_max_fires_allows_are_counted_by_the_rules_of_now() -> None:
    job, after = a_job(max_fires=2), town(10)
    first = read(job, pointer_of(job), BEFORE, now=at_minute(29), horizon=at_minute(43))
    assert first.following is not None
    # By the rules of now the first two were due at minutes 20 and 80.
    second = read(job, first.following, after, now=at_minute(76), horizon=at_minute(90))
    assert (minutes(second), second.following) == ([80], None)


def test_jitter_moves_with_its_base() -> None:
    job = a_job(jitter_seconds=30)
    before, after = pointer_of(job), pointer_of(job, town(-20))
    step = read(job, before, town(-20), now=at_minute(29), horizon=at_minute(43))
    assert step.following == after
    assert after.fire.due_at != after.fire.base_at


def test_many_fires_behind_are_read_again_from_where_the_shard_is_read() -> None:
    job = a_job("* 30 22,23 * * *", catch_up="all")
    # The fires of one minute came to lie ten minutes earlier, and its reader takes three at a time.
    now, horizon = at_minute(29), at_minute(43)
    pointer: Pointer | None = pointer_of(job)
    fired: list[float] = []
    keys: list[str] = []
    while pointer is not None and pointer.key <= edge_key(horizon):
        keys.append(pointer.key)
        step = read(job, pointer, town(10), now=now, horizon=horizon, limit=3)
        assert step.is_cut == (step.following is not None and step.following.key <= edge_key(horizon))
        fired, pointer = fired + minutes(step), step.following
    assert fired == [20 + second / 60 for second in range(60)]
    assert keys == sorted(set(keys)), "no reader passes a pointer that is put behind it"


def test_a_pointer_of_before_this_format_follows_its_own_instant() -> None:
    job = a_job()
    pointer = pointer_of(job)
    older = msgspec.structs.replace(pointer, fire=msgspec.structs.replace(pointer.fire, after_at=None))
    same = read(job, older, town(0), now=at_minute(29), horizon=at_minute(43))
    assert (minutes(same), next_minute(same)) == ([30], 90)
    moved = read(job, older, town(-20), now=at_minute(29), horizon=at_minute(43))
    assert (minutes(moved), next_minute(moved)) == ([], 50)


def test_a_backfill_goes_on_by_the_rules_of_now() -> None:
    job = a_job()
    with ruled_by(BEFORE):
        fires = fires_of_range(job, at_minute(-170), at_minute(-20))
        pointer = plan_backfill(job, "b1", fires, at_minute(-20), 10, START).pointer
    assert pointer is not None
    step = read(job, pointer, town(-20), now=START, horizon=START + 10_000)
    assert (minutes(step), step.following) == ([-130, -70], None)


def test_a_backfill_of_which_no_fire_is_left_is_told_as_skipped() -> None:
    job = a_job()
    with ruled_by(BEFORE):
        fires = fires_of_range(job, at_minute(-100), at_minute(-80))
        pointer = plan_backfill(job, "b1", fires, at_minute(-80), 10, START).pointer
    assert pointer is not None
    step = read(job, pointer, town(-20), now=START, horizon=START + 10_000)
    assert (step.releases, step.following) == ((), None)
    assert step.skipped is not None
    assert (step.skipped.count, minute_of(step.skipped.from_at)) == (1, -90)
    assert step.skipped.reason == "the rules of its job's time zone were changed before this part of the backfill"


def test_an_interval_and_utc_know_no_rules() -> None:
    every = Recurrence(every=Every(MINUTE, START), timezone=TOWN)
    utc = Recurrence(cron=compile_cron("30 * * * *"))
    for recurrence in (every, utc):
        with ruled_by(BEFORE):
            job = Named(recurrence=recurrence).job
        assert pointer_of(job).fire.after_at is None
