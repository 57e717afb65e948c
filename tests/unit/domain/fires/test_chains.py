"""Chains: which fires of a named job count as missed, and which one is due at an instant or after it."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clockwork.domain import recurrence as recurrences
from clockwork.domain.cron.exclude_parser import parse_exclude
from clockwork.domain.cron.exclusion import Exclusion
from clockwork.domain.cron.parser import compile_cron
from clockwork.domain.fires.chains import MOST_WALKED, expand, fire_after, first_due_after, first_pointer, has_fire_at
from clockwork.domain.fires.counting import COST_OF_DAY
from clockwork.domain.fires.missed import MISSED_AFTER_MS, is_missed, missed_to
from clockwork.domain.keys import edge_key, instant_of
from clockwork.domain.named_jobs import NamedJob
from clockwork.domain.recurrence import Every, Fire, Recurrence, TooMuchWork, Work
from clockwork.edge.responses.fires import next_due_of, state_of
from clockwork.flows.named.repair import check_chain
from tests.support.named import Named

#: A day's jitter on a fire a second: 86,400 of its fires may be due at any instant, by their base instants.
DAY_SECONDS = 86_400
DENSE = Recurrence(cron=compile_cron("* * * * * *"), jitter_seconds=DAY_SECONDS)
#: Each looks at no more base instants than this. A walk over the jitter would look at 172,800.
FEW = 40
#: Noon of the night in which Berlin sets its clocks back an hour later.
AUTUMN = 1_761_393_600_000


def test_the_one_fire_of_a_job_that_fires_once_is_never_missed() -> None:
    job = Named().job
    once = msgspec.structs.replace(job.definition, recurrence=None, at=job.changed_at)
    fire = Fire(job.changed_at, job.changed_at, 1)
    assert not is_missed(msgspec.structs.replace(job, definition=once), fire, fire.due_at + 10 * MISSED_AFTER_MS)


@pytest.mark.parametrize(("late_ms", "missed"), [(MISSED_AFTER_MS, False), (MISSED_AFTER_MS + 1, True)])
def test_a_fire_that_is_read_long_after_it_was_due_was_missed(late_ms: int, missed: bool) -> None:
    job = Named().job
    fire = Fire(job.changed_at + 1, job.changed_at + 1, 1)
    assert is_missed(job, fire, fire.due_at + late_ms) is missed


def of(recurrence: Recurrence, begins_at: int = 0, ordinal: int = 0) -> NamedJob:
    """A named job with this schedule, whose chain begins behind the instant (ms; 0: ten days ago)."""
    named = Named()
    definition = msgspec.structs.replace(named.job.definition, recurrence=recurrence)
    begins_at = begins_at or named.start - 10 * DAY_SECONDS * 1000
    return msgspec.structs.replace(named.job, definition=definition, chain_after_at=begins_at, chain_ordinal=ordinal)


@pytest.mark.parametrize(
    ("catch_up", "window", "kept_ms"),
    [
        ("latest", 3_600, MISSED_AFTER_MS),
        ("none", 3_600, MISSED_AFTER_MS),
        ("all", 3_600, 3_600_000),
        ("all", 90.5, 90_500),
        ("all", 5, MISSED_AFTER_MS),
    ],
)
def test_all_up_to_an_instant_were_missed_and_none_behind_it(catch_up: Any, window: float, kept_ms: int) -> None:
    job = of(Recurrence(every=Every(1_000, 0)))
    definition = msgspec.structs.replace(job.definition, catch_up=catch_up, catch_up_window_seconds=window)
    job = msgspec.structs.replace(job, definition=definition, asked_at=1)
    now = job.changed_at
    last_at = missed_to(job, Fire(2, 2, 1), now)
    assert last_at == now - kept_ms - 1
    assert is_missed(job, Fire(last_at, last_at, 1), now)
    assert not is_missed(job, Fire(last_at + 1, last_at + 1, 1), now)
    resumed = msgspec.structs.replace(job, skips_until=now - 5)
    assert missed_to(resumed, Fire(2, 2, 1), now) == now - 6
    assert is_missed(resumed, Fire(now - 6, now - 6, 1), now)
    assert not is_missed(resumed, Fire(now - 5, now - 5, 1), now)


@pytest.mark.parametrize("fires", [5, MOST_WALKED + 5])
def test_a_stretch_that_is_skipped_ends_with_the_fire_at_the_horizon_itself(fires: int) -> None:
    job = of(Recurrence(every=Every(1_000, 0)))
    job = msgspec.structs.replace(job, definition=msgspec.structs.replace(job.definition, catch_up="none"), asked_at=1)
    first = first_pointer(job)
    assert first is not None
    last_at = first.fire.due_at + (fires - 1) * 1_000
    for horizon, count in ((edge_key(last_at), fires), (edge_key(last_at - 1), fires - 1)):
        step = expand(job, first, horizon, job.changed_at, 100)
        assert step.skipped is not None and step.following is not None
        assert (step.releases, step.skipped.count, step.skipped.from_at) == ((), count, first.fire.due_at)
        assert step.following.fire.due_at == step.skipped.to_at + 1_000


def looks(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The instants behind which a base instant was looked for, from now on: a list that grows."""
    seen: list[int] = []
    look = recurrences._next_base

    def counted(recurrence: Recurrence, after_at: int) -> int | None:
        seen.append(after_at)
        return look(recurrence, after_at)

    monkeypatch.setattr(recurrences, "_next_base", counted)
    return seen


@pytest.mark.parametrize("recurrence", [DENSE, Recurrence(every=Every(1_000, 0), jitter_seconds=DAY_SECONDS)])
def test_a_days_jitter_on_a_fire_a_second_costs_a_few_looks(
    monkeypatch: pytest.MonkeyPatch, recurrence: Recurrence
) -> None:
    job, now = of(recurrence), Named().start
    due = fire_after(job, now, 0)
    assert due is not None
    seen = looks(monkeypatch)
    assert has_fire_at(job, due.due_at)
    assert not has_fire_at(job, due.due_at + 1)
    assert len(seen) <= FEW
    seen.clear()
    assert next_due_of(job, now) is not None
    assert state_of(job, now) is job.state
    assert len(seen) <= FEW


def test_a_repair_does_not_walk_over_the_jitter(monkeypatch: pytest.MonkeyPatch) -> None:
    named = Named(recurrence=DENSE)
    named.run(2)
    shard = named.clockwork.world.shards.get([named.job.partition_id])[named.job.partition_id]
    ahead_s = (instant_of(shard.horizon) - instant_of(shard.cursor)) // 1000 + 1
    days_old = msgspec.structs.replace(named.stored, chain_after_at=named.start - 2 * DAY_SECONDS * 1000)
    seen = looks(monkeypatch)
    assert not check_chain(named.clockwork.world, days_old)
    # Of each fire between cursor and horizon the base instant is looked for, and the one behind it for its jitter.
    assert 2 * ahead_s <= len(seen) <= 2 * ahead_s + FEW


def cron(expression: str, **more: Any) -> Recurrence:
    exclude = parse_exclude(more.pop("exclude", []))
    return Recurrence(cron=compile_cron(expression), timezone="Europe/Berlin", exclude=exclude, **more)


def named_by(fire: Fire | None, recurrence: Recurrence) -> tuple[int, ...]:
    """The instants of a fire, and its ordinal: only a bounded schedule counts its fires."""
    instants = () if fire is None else (fire.base_at, fire.due_at)
    return instants if fire is None or recurrence.max_fires is None else (*instants, fire.ordinal)


@given(
    recurrence=st.sampled_from(
        (
            cron("* * * * *", jitter_seconds=7_200),
            cron("*/7 * * * *", jitter_seconds=120, max_fires=30),
            cron("*/5 * * * *", jitter_seconds=7_200, exclude=["* 2-3 * * *", "*/3 * * * *"]),
            cron("0 * * * *", jitter_seconds=10_000, end_at=AUTUMN + 50_000_000),
            cron("30 2 * * *", jitter_seconds=DAY_SECONDS),
            Recurrence(every=Every(61_001, AUTUMN), jitter_seconds=60, start_at=AUTUMN + 7_200_000),
            Recurrence(every=Every(90_500, AUTUMN), jitter_seconds=900, exclude=parse_exclude(["* 14 * * *"])),
            Recurrence(every=Every(600_000, AUTUMN)),
        )
    ),
    offset_ms=st.integers(-1, 60 * 3_600_000),
    ordinal=st.integers(0, 3),
)
def test_the_first_fire_that_is_due_after_an_instant_is_the_one_that_a_walk_finds(
    recurrence: Recurrence, offset_ms: int, ordinal: int
) -> None:
    job = of(recurrence, AUTUMN, ordinal)
    walked = [fire_after(job, AUTUMN, ordinal)]
    while walked[-1] is not None and walked[-1].due_at <= AUTUMN + offset_ms:
        walked.append(fire_after(job, walked[-1].base_at, walked[-1].ordinal))
    found = first_due_after(job, AUTUMN + offset_ms)
    assert named_by(found, recurrence) == named_by(walked[-1], recurrence)
    for fire, following in pairwise(one for one in walked[-3:] if one is not None):
        assert has_fire_at(job, fire.due_at)
        assert has_fire_at(job, fire.due_at + 1) is (following.due_at == fire.due_at + 1)


def test_the_count_of_an_old_chain_is_work_that_a_request_may_not_exceed() -> None:
    years = 3 * 365 * 86_400_000
    excluded = Recurrence(every=Every(60_000, AUTUMN), max_fires=10**7, exclude=parse_exclude(["0 12 * * *"]))
    job = of(excluded, AUTUMN, 0)
    with pytest.raises(TooMuchWork):
        first_due_after(job, AUTUMN + years, Work(3 * 365 * COST_OF_DAY))
    work = Work(3 * 366 * COST_OF_DAY)
    assert first_due_after(job, AUTUMN + years, work) == first_due_after(job, AUTUMN + years)
    assert work.left < 3 * COST_OF_DAY
    # An interval without exclusions is counted at once, and without `maxFires` nobody counts.
    for free in (
        msgspec.structs.replace(excluded, exclude=Exclusion()),
        msgspec.structs.replace(excluded, max_fires=None),
    ):
        assert first_due_after(of(free, AUTUMN, 0), AUTUMN + years, Work(0)) is not None
