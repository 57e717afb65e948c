"""Changes that keep a job's beat and choose other fires of it: each base fires once, is told, or was told before."""

from __future__ import annotations

import msgspec
import pytest

from clockwork.domain.cron.exclusion import Exclusion
from clockwork.domain.cron.parser import compile_cron
from clockwork.domain.fires.chains import first_due_after
from clockwork.domain.named.changes import Change, paused, replaced, resumed
from clockwork.domain.recurrence import Every, Recurrence
from tests.support.named import Named

BEAT = Every(100_000, 1_700_000_000_000)
JITTERED = Recurrence(every=BEAT, jitter_seconds=99)
PLAIN = Recurrence(every=BEAT)


def _paused_between_a_base_and_its_jitter(catch_up: str, *, cancels: bool = False) -> tuple[Named, float]:
    """A job with the fire that its pause holds back, though the schedule named it before; and the fire's base (s)."""
    named = Named(recurrence=JITTERED, catch_up=catch_up)
    named.run(250)
    fire = first_due_after(named.job, named.clockwork.clock.at)
    assert fire is not None
    assert fire.due_at > fire.base_at + 2_000
    if fire.base_at > named.clockwork.clock.at:
        named.run((fire.base_at - named.clockwork.clock.at) / 1000 + 1)
    named.change(paused(None, cancels=cancels))
    assert fire.base_at < named.clockwork.clock.at < fire.due_at
    return named, (fire.base_at - named.start) / 1000


def _without_jitter(named: Named, catch_up: str) -> Change:
    return replaced(named.definition(recurrence=PLAIN, catch_up=catch_up), b'"plain"')


def _told(named: Named) -> list[tuple[float, float, int]]:
    stretches = [e.end.skipped for e in named.executions() if e.end.skipped is not None]
    return [((one.from_at - named.start) / 1000, (one.to_at - named.start) / 1000, one.count) for one in stretches]


@pytest.mark.parametrize("cancels", [False, True])
@pytest.mark.parametrize("catch_up", ["all", "none"])
def test_a_fire_that_a_change_brings_before_its_pause_is_caught_up_with(catch_up: str, cancels: bool) -> None:
    named, base = _paused_between_a_base_and_its_jitter(catch_up, cancels=cancels)
    named.change(_without_jitter(named, catch_up))
    named.run(120)
    named.change(resumed(None))
    fired = named.run(70)
    last = base + 100
    assert (fired, _told(named)) == (([base, last], []) if catch_up == "all" else ([], [(base, last, 2)]))


def test_a_fire_that_a_change_brings_before_its_pause_is_told_if_the_beat_is_replaced() -> None:
    named, base = _paused_between_a_base_and_its_jitter("all")
    named.change(_without_jitter(named, "all"))
    named.run(120)
    named.change(replaced(named.definition(every_ms=7_000), b'"other"'))
    assert _told(named) == [(base, base + 100, 2)]
    named.change(resumed(None))
    assert min(named.run(20)) > base + 120


def test_a_fire_that_a_change_brings_before_its_pause_does_not_count_before_it_fires() -> None:
    named, base = _paused_between_a_base_and_its_jitter("all")
    named.change(_without_jitter(named, "all"))
    fired = len([e for e in named.executions() if e.end.ended_by is None])
    ends_with_it = msgspec.structs.replace(PLAIN, max_fires=fired + 1)
    named.change(replaced(named.definition(recurrence=ends_with_it, catch_up="all"), b'"last"'))
    named.change(resumed(None))
    assert named.run(300) == [base]


@pytest.mark.parametrize("is_paused", [False, True])
@pytest.mark.parametrize("jitter_seconds", [0, 99])
def test_what_was_excluded_before_a_change_does_not_fire_after_it(jitter_seconds: int, is_paused: bool) -> None:
    free = Recurrence(every=BEAT, jitter_seconds=jitter_seconds)
    excluded = msgspec.structs.replace(free, exclude=Exclusion(crons=(compile_cron("* 13-20 22 * * *"),)))
    named = Named(recurrence=excluded, catch_up="all")
    assert named.run(350) == []
    if is_paused:
        named.change(paused(None))
    named.change(replaced(named.definition(recurrence=free, catch_up="all"), b'"free"'))
    if is_paused:
        named.change(resumed(None))
    assert min(named.run(150)) >= 350.0
    assert _told(named) == []


def test_a_resume_forgets_no_fire_that_a_later_bound_counts() -> None:
    named = Named(recurrence=PLAIN)
    assert named.run(350) == [100.0, 200.0, 300.0]
    named.change(paused(None))
    named.change(resumed(None))
    named.change(replaced(named.definition(recurrence=msgspec.structs.replace(PLAIN, max_fires=4)), b'"four"'))
    assert named.run(400) == [400.0]
