"""Lateness of a named job's fires counts from the due instant, and what a pause of the job took of it is told apart."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from clockwork.domain.executions import Execution, State
from clockwork.domain.named.changes import paused, replaced, resumed
from clockwork.domain.policies import RetryPolicy
from clockwork.domain.recurrence import Every, Recurrence
from clockwork.flows.deliver.items import DeliverReport
from clockwork.flows.named import trigger
from clockwork.flows.requests.redrive import redrive
from clockwork.memory.world import MemoryClockwork
from tests.support.examples import failure
from tests.support.named import Named


def of(named: Named, second: float, run: str = "0") -> Execution:
    due_at = named.start + int(second * 1000)
    return next(e for e in named.executions() if e.due_at == due_at and e.execution_id.rpartition(".")[2][:1] == run)


def late(named: Named, second: float, run: str = "0") -> tuple[int, dict[str, int]]:
    """How late (ms) the fire at that second began, and what it waited for."""
    record = of(named, second, run)
    return record.attempts[0].lateness_ms, {} if record.waits.waited is None else msgspec.to_builtins(
        record.waits.waited
    )


def once(named: Named, second: float) -> Any:
    return named.definition(recurrence=None, at=named.start + int(second * 1000))


def told(named: Named, second: float, late_ms: int, paused_ms: int) -> None:
    """Requires that a fire was late by so much, within the moments that a delivery takes, and paused for so much."""
    lateness_ms, waits = late(named, second)
    assert late_ms <= lateness_ms < late_ms + 1_500
    assert waits == ({"pause": paused_ms} if paused_ms else {})


def test_what_a_pause_of_its_job_held_back_was_late_and_waited_for_the_pause() -> None:
    named = Named(catch_up="all")
    named.run(15)
    named.change(paused(None))
    named.run(55)
    named.change(resumed(None))
    named.run(20)
    for second in (20, 30, 40, 50, 60, 70):
        told(named, second, 70_000 - second * 1_000, 70_000 - second * 1_000)
    told(named, 10, 0, 0)
    told(named, 80, 0, 0)


def test_the_metric_of_its_own_lateness_leaves_the_pause_out(monkeypatch: pytest.MonkeyPatch) -> None:
    named = Named(catch_up="all")
    named.run(15)
    named.change(paused(None))
    named.run(55)
    named.change(resumed(None))
    reports: list[DeliverReport] = []
    deliver: Callable[..., DeliverReport] = MemoryClockwork._deliver

    def kept(*args: Any) -> DeliverReport:
        reports.append(deliver(*args))
        return reports[-1]

    monkeypatch.setattr(MemoryClockwork, "_deliver", kept)
    named.run(5)
    assert max(ms for report in reports for ms in report.lateness_ms) >= 50_000
    assert max(ms for report in reports for ms in report.own_lateness_ms) < 1_500


def test_a_job_that_fires_once_and_is_due_in_a_pause_was_late_from_its_instant_on() -> None:
    named = Named(recurrence=None, at=0)
    named.change(replaced(once(named, 30), b"1"))
    named.change(paused(None))
    named.run(80)
    named.change(resumed(None))
    named.run(5)
    told(named, 30, 50_000, 50_000)


def test_one_that_is_moved_in_a_pause_to_an_instant_of_before_is_late_from_its_move_on() -> None:
    named = Named(recurrence=None, at=0)
    named.change(replaced(once(named, 300), b"1"))
    named.run(20)
    named.change(paused(None))
    named.run(20)
    named.change(replaced(once(named, 10), b"2"))
    named.run(60)
    named.change(resumed(None))
    named.run(5)
    told(named, 10, 60_000, 60_000)


def test_one_that_is_moved_is_late_from_its_new_instant_on() -> None:
    named = Named(recurrence=None, at=0)
    named.change(replaced(once(named, 300), b"1"))
    named.run(20)
    named.change(replaced(once(named, 30), b"2"))
    named.run(30)
    told(named, 30, 0, 0)
    assert [e.state for e in named.executions() if e.due_at == named.start + 30_000] == [State.SUCCEEDED]


def test_one_that_is_asked_for_an_instant_of_before_is_late_from_then_on() -> None:
    named = Named()
    named.run(50)
    late_one = named.create(key="late", recurrence=None, at=named.start + 10_000).job
    named.run(5)
    (record,) = named.clockwork.executions.list(late_one.job_id, 5, None)
    assert record.attempts[0].lateness_ms < 1_500
    assert record.waits.waited is None


def test_a_change_of_bounds_in_a_pause_leaves_what_the_pause_holds_back_late_from_its_instant_on() -> None:
    named = Named(catch_up="all")
    named.run(15)
    named.change(paused(None))
    named.run(20)
    every = Recurrence(every=Every(10_000, named.start), end_at=named.start + 600_000)
    named.change(replaced(named.definition(catch_up="all", recurrence=every), b"2"))
    named.run(20)
    named.change(resumed(None))
    named.run(10)
    told(named, 20, 35_000, 35_000)
    told(named, 50, 5_000, 5_000)


def test_another_beat_is_late_from_its_own_instants_on() -> None:
    named = Named()
    named.run(15)
    named.change(replaced(named.definition(every_ms=7_000), b"2"))
    named.run(20)
    assert {e.attempts[0].lateness_ms < 1_500 for e in named.executions() if e.attempts} == {True}
    assert {e.waits.waited for e in named.executions()} == {None}


def test_two_pauses_are_told_each_by_the_fires_that_it_held_back() -> None:
    named = Named(catch_up="all")
    named.run(15)
    named.change(paused(None))
    named.run(20)
    named.change(resumed(None))
    named.run(10)
    named.change(paused(None))
    named.run(20)
    named.change(resumed(None))
    named.run(5)
    told(named, 20, 15_000, 15_000)
    told(named, 30, 5_000, 5_000)
    told(named, 40, 0, 0)
    told(named, 50, 15_000, 15_000)


def test_the_wait_for_a_pause_counts_once_over_all_attempts() -> None:
    named = Named(catch_up="all", retry_policy=RetryPolicy(backoff="fixed", initial_seconds=5, jitter="none"))
    answers = iter([failure(started_at=named.start)])
    succeed = named.clockwork.targets._succeed
    named.run(15)
    named.change(paused(None))
    named.run(10)
    named.clockwork.targets._answer = lambda d: next(answers, None) or succeed(d)
    named.change(resumed(None))
    named.run(10)
    record = of(named, 20)
    assert [one.state for one in record.attempts] == [State.FAILED, State.SUCCEEDED]
    assert msgspec.to_builtins(record.waits.waited) == {"pause": 5_000}


def test_what_is_redriven_is_late_from_its_redrive_on() -> None:
    named = Named(catch_up="all", retry_policy=RetryPolicy(max_attempts=1))
    succeed = named.clockwork.targets._succeed
    named.run(15)
    named.change(paused(None))
    named.run(10)
    named.clockwork.targets._answer = lambda d: failure(started_at=named.clockwork.clock.now())
    named.change(resumed(None))
    named.run(3)
    named.clockwork.targets._answer = succeed
    dead = of(named, 20)
    assert dead.state is State.DEAD
    named.run(100)
    redrive(named.clockwork.world, dead)
    named.run(5)
    again = of(named, 20)
    assert again.attempts[1].lateness_ms < 1_500
    assert again.waits.waited is None


def test_a_backfilled_fire_and_a_run_by_hand_are_late_from_when_they_were_to_run() -> None:
    named = Named()
    named.run(35)
    named.change(paused(None))
    trigger.run_now(named.clockwork.world, named.stored, None)
    trigger.backfill(
        named.clockwork.world, named.stored, named.start, named.start + 20_000, 0.1, "key", admit=lambda *_: None
    )
    named.run(40)
    by_hand = [e for e in named.executions() if not e.execution_id.endswith(".0")]
    assert len(by_hand) == 4
    assert {e.state for e in by_hand} == {State.SUCCEEDED}
    assert max(e.attempts[0].lateness_ms for e in by_hand) < 1_500
    assert {e.waits.waited for e in by_hand} == {None}
