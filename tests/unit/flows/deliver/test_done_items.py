"""The work on an item is done once: a defect beside it, or in counting it, brings nothing of it back."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from clockwork.domain.executions import Execution, Outcome, State
from clockwork.domain.lifecycle.attempts import Action, Plan
from clockwork.domain.limits.circuits import Circuit, host_of
from clockwork.domain.limits.slots import Reserved
from clockwork.domain.policies import RetryPolicy
from clockwork.flows.deliver import circuits, outcome
from clockwork.flows.deliver.batch import Batch
from clockwork.flows.deliver.claim import end_unclaimed
from clockwork.flows.deliver.items import Item
from clockwork.flows.deliver.waiting import Resent
from clockwork.targets.http import HttpTarget
from tests.support.examples import NOW, changed, execution, occurrence, release
from tests.support.regulated import Regulated

SHUT = HttpTarget("https://shut.example.com/")


def shut_and_capped(monkeypatch: pytest.MonkeyPatch) -> Regulated:
    """A client with a shut host whose first reservation of slots meets a defect, after a step was done with others."""
    regulated = Regulated(max_rate_per_second=100.0)
    now = regulated.start
    regulated.clockwork.regulation.save_circuit(None, Circuit("acme", "shut.example.com", now, now + 10**6, 10**6))
    reserve, defects = regulated.clockwork.regulation.reserve, [ValueError("a defect")]

    def once(*args: Any) -> Reserved:
        if defects:
            raise defects.pop()
        return reserve(*args)

    monkeypatch.setattr(regulated.clockwork.regulation, "reserve", once)
    return regulated


def test_what_failed_before_a_defect_is_not_handled_a_second_time(monkeypatch: pytest.MonkeyPatch) -> None:
    regulated = shut_and_capped(monkeypatch)
    executions, asked = regulated.clockwork.executions, []
    save = executions.save

    def failing_once(changes: Any) -> Any:
        parked = [after for _, after in changes if after.state is State.PARKED]
        asked.extend(parked)
        if len(asked) == 1 and parked:
            raise ValueError("the record of the parked one is refused, once")
        return save(changes)

    monkeypatch.setattr(executions, "save", failing_once)
    failed: list[str] = []
    fail = Batch.fail

    def noted(batch: Batch, item: Item, why: str) -> None:
        failed.append(item.release.execution_id)
        fail(batch, item, why)

    monkeypatch.setattr(Batch, "fail", noted)
    (shut,) = regulated.create(1, target=SHUT)
    regulated.create(2)
    assert len(regulated.run(6)) == 2
    assert [one.split(".")[0] for one in failed] == [shut.split(".")[0]]
    assert len(asked) == 1, "it comes again with its message and not before"
    assert regulated.parked == 0


def test_an_item_whose_end_is_told_is_done_with() -> None:
    regulated = Regulated()
    batch = Batch(regulated.clockwork.world, NOW + 60_000, Resent(regulated.clockwork.world))
    plans = [Plan(Action.ABSORB, "already done"), Plan(Action.FINISH, "too late", execution(State.EXPIRED))]
    items = [Item(str(number), release()) for number in range(3)]
    for item, plan in zip(items, plans, strict=False):
        batch.apply_plan(item, plan)
    regulated.clockwork.clock.at = NOW + 30_000
    late = msgspec.structs.replace(occurrence(), record="none", relevancy_window_seconds=1.0)
    items[2].release = release(occurrence=late)
    assert end_unclaimed(batch, items[2])
    assert [item.left for item in items] == [True, True, True]


@pytest.mark.parametrize("record", ["full", "none"])
def test_an_attempt_that_cannot_be_counted_is_recorded_and_followed_once(
    record: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    regulated = Regulated()
    regulated.accepts = False

    def defect(*_: Any) -> None:
        raise ValueError("a defect")

    monkeypatch.setattr(outcome, "_count", defect)
    regulated.create(1, record=record, retry_policy=RetryPolicy(max_attempts=3, backoff="none"))
    assert [one.attempt for one in regulated.run(600)] == [1, 2, 3]
    (dead,) = regulated.clockwork.executions.all()
    assert (dead.state, len(dead.attempts)) == (State.DEAD, 3)
    assert not regulated.clockwork.queue.messages
    assert regulated.clockwork.world.environment.faults.take() == 3


def test_a_target_whose_host_cannot_be_told_keeps_no_other_outcome_from_its_circuit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    regulated = Regulated(max_concurrency=10)
    noted = []

    def odd(target: Any) -> str | None:
        if target == SHUT:
            raise ValueError("a defect")
        return host_of(target)

    def note(_world: Any, item: Item, _outcome: Outcome, host: str) -> None:
        noted.append((item.release.occurrence.target, host))

    monkeypatch.setattr(circuits, "host_of", odd)
    monkeypatch.setattr(circuits, "_note", note)
    regulated.create(1, target=SHUT)
    regulated.create(1)
    assert len(regulated.run(6)) == 2
    assert [host for _, host in noted] == ["example.com"]
    now = regulated.clockwork.clock.at
    assert regulated.clockwork.regulation.lease("acme", 0, "other", now, now + 1), "the permits were given back"


def test_a_stale_outcome_is_refused_and_its_message_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """The claim that took over may be lost as well: then this message alone brings the execution to an end."""
    regulated = Regulated()
    executions = regulated.clockwork.executions

    def taken_over(_: Any) -> Outcome:
        (running,) = executions.all()
        theirs = changed(running, claimant="another", claim_until=regulated.clockwork.clock.at + 1_000)
        assert executions.save([(running, theirs)])[0].ok
        return Outcome(State.SUCCEEDED, regulated.clockwork.clock.at, regulated.clockwork.clock.at)

    monkeypatch.setattr(regulated.clockwork.targets, "_answer", taken_over)
    regulated.create(1)
    regulated.clockwork.poll_all()
    regulated.clockwork.clock.advance(5_000)
    report = regulated.clockwork.deliver_visible()
    assert len(report.failed_messages) == 1
    assert len(regulated.clockwork.queue.messages) == 1
    (stored,) = executions.all()
    assert (stored.state, stored.claimant) == (State.RUNNING, "another")
    monkeypatch.setattr(regulated.clockwork.targets, "_answer", regulated.clockwork.targets._succeed)
    regulated.run(600)
    ended: Execution = executions.all()[0]
    assert [one.state for one in ended.attempts] == [State.WORKER_LOST, State.SUCCEEDED]
