"""The judge of named jobs: what it holds a job to when a change keeps the schedule's period."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pytest

from clockwork.domain.cron.parser import compile_cron
from clockwork.domain.cron.zones import ruled_by
from clockwork.domain.executions import Attempt, Execution, State
from clockwork.domain.named.changes import Change, changed, paused, replaced, resumed
from clockwork.domain.named.overlaps import UNDER_WAY
from clockwork.domain.named_jobs import Definition, NamedJob
from clockwork.domain.recurrence import Every, Recurrence, next_occurrence
from tests.simulation.named_history import CANCELLING, Event, events_of, is_legit, promised
from tests.simulation.named_watcher import Life
from tests.simulation.overlapping import LOOKS_AFTER_MS, Overlapping
from tests.simulation.zones import Zones
from tests.support.examples import execution
from tests.support.named import Named
from tests.support.zones import TOWN, town

BEAT = Every(100_000, 1_700_000_000_000)
JITTERED = Recurrence(every=BEAT, jitter_seconds=99)
PLAIN = Recurrence(every=BEAT)


def _rows(job: NamedJob, *steps: tuple[int, Change]) -> Sequence[NamedJob]:
    """The rows of a job that is changed at these instants (ms)."""
    rows = [job]
    for at, change in steps:
        rows.append(changed(rows[-1], at, at, change, lambda _: job.partition_id))
    return rows


def _to(job: NamedJob, recurrence: Recurrence) -> Change:
    definition: Definition = msgspec.structs.replace(job.definition, at=None, recurrence=recurrence)
    return replaced(definition, b'"changed"')


@pytest.mark.parametrize("cancels", [False, True])
def test_a_fire_that_another_jitter_brings_before_a_pause_is_due_at_the_resume(*, cancels: bool) -> None:
    job = Named(recurrence=JITTERED, catch_up="all").job
    fire = next_occurrence(JITTERED, job.created_at, 0, job.job_id)
    assert fire is not None
    assert fire.base_at + 1 < fire.due_at
    pause = paused(CANCELLING if cancels else None, cancels=cancels)
    rows = _rows(job, (fire.base_at + 1, pause), (fire.due_at + 1, _to(job, PLAIN)))
    assert not is_legit(events_of(rows), fire.base_at, is_started=False)
    events = events_of([*rows, *_rows(rows[-1], (fire.due_at + 2, resumed(None)))[1:]])
    assert is_legit(events, fire.base_at, is_started=False)
    assert next(promised(events)) == fire.base_at


def test_the_latest_fire_of_a_pause_is_legitimate_by_the_rules_of_before_and_by_those_of_after() -> None:
    began_at = 1_700_000_000_000
    zones = Zones(before=town(0), after=town(0, 5, began_at), differ_at=began_at, settled_at=began_at + 10**7)
    recurrence = Recurrence(cron=compile_cron("*/12 * * * *"), timezone=TOWN)
    with ruled_by(zones.before):
        job = Named(recurrence=recurrence, catch_up="latest").job
        rows = _rows(job, (job.created_at + 1, paused(None)), (job.created_at + 1_800_000, resumed(None)))
    zones.is_changed = True
    life = Life(truths=list(rows), zones=zones)

    def legit(events: Sequence[Event]) -> list[int]:
        dues = sorted({due for event in events for due in event.fires.due.values() if due < rows[-1].boundary_at})
        return [due for due in dues if is_legit(events, due, is_started=False)]

    both, before, after = (legit(events) for events in life.events_by_each(job.job_id))
    assert len(before) == len(after) == 1
    assert before != after
    assert both in (before, after)


def test_a_base_from_before_the_beat_is_not_promised_whatever_the_jitter() -> None:
    job = Named(at=1_700_000_900_000, recurrence=None).job
    base_at = BEAT.anchor_at + 100_000
    steps = [(base_at + 1, _to(job, recurrence)) for recurrence in (PLAIN, JITTERED, PLAIN)]
    assert next(promised(events_of(_rows(job, *steps)))) == base_at + 100_000


SKIPS_SINCE = {"job": 0}


def _record(number: int, state: State, *, tried: int = 0, claimant: str | None = None) -> Execution:
    attempts = (Attempt(tried, State.FAILED, 1, 2),) if tried else ()
    made = execution(state, attempt=tried + 1, attempts=attempts, claimant=claimant, job_id="job")
    reason = UNDER_WAY if state is State.SKIPPED else None
    return msgspec.structs.replace(made, execution_id=f"job.{number:013d}.0", reason=reason)


@pytest.mark.parametrize(
    ("later_ends", "tried", "is_right"),
    [
        # Each was skipped by the other's claim.
        (State.SKIPPED, 1, False),
        # The later one went on, so that it was in the way.
        (State.SUCCEEDED, 1, True),
        # It has not ended.
        (State.FAILED, 1, True),
        # The later one alone had begun, so nothing was in its way.
        (State.SKIPPED, 0, False),
    ],
)
def test_of_two_that_look_at_each_other_one_goes_on(later_ends: State, tried: int, *, is_right: bool) -> None:
    judge, at = Overlapping(), LOOKS_AFTER_MS + 1
    judge.recorded(_record(1, State.RUNNING, tried=tried, claimant="a"), at)
    judge.recorded(_record(2, State.RUNNING, tried=1, claimant="b"), at)
    judge.recorded(_record(1, State.SKIPPED, tried=tried), at + 1)
    judge.recorded(_record(2, later_ends, tried=1), at + 2)
    assert (list(judge.objections(SKIPS_SINCE)) == []) is is_right
    # Before the change, and about it, a claim may not have looked.
    assert list(judge.objections({"job": 10})) == list(judge.objections({})) == []


def test_what_had_ended_before_was_in_nobodys_way() -> None:
    judge, at = Overlapping(), LOOKS_AFTER_MS + 1
    judge.recorded(_record(1, State.SUCCEEDED), at)
    judge.recorded(_record(2, State.RUNNING, claimant="b"), at + 1)
    judge.recorded(_record(2, State.SKIPPED), at + 2)
    assert len(list(judge.objections(SKIPS_SINCE))) == 1
