"""Backfilled fires under `overlap: skip`: they wait for others of their job as for a permit, and are not skipped."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from clockwork.domain.executions import State
from clockwork.domain.fires.chains import release_at
from clockwork.domain.lifecycle.redrives import plan_redrive
from clockwork.domain.named.changes import replaced
from clockwork.domain.named.overlaps import WAITS
from clockwork.domain.policies import Completion, RetryPolicy
from clockwork.flows.deliver.deliver import deliver_batch
from clockwork.flows.deliver.inbox import Message
from clockwork.flows.named import trigger
from clockwork.flows.sweep.dead_letters import sweep_dead_letters
from clockwork.memory.executions import MemoryExecutions
from tests.support.examples import changed, failure
from tests.support.named import Named

backfill = partial(trigger.backfill, admit=lambda *_: None)
RETRIED = RetryPolicy(max_attempts=3, backoff="fixed", initial_seconds=20, jitter="none")


class Skipping(Named):
    """A job with `overlap: skip` that fires every 100 s, and whose attempts fail for as long as `fails`."""

    def __init__(self, **definition: Any) -> None:
        super().__init__(every_ms=100_000, overlap="skip", retry_policy=RETRIED, **definition)
        self.fails = False
        succeed = self.clockwork.targets._answer
        self.clockwork.targets._answer = lambda delivery: (
            failure(started_at=self.clockwork.clock.now()) if self.fails else succeed(delivery)
        )

    def states(self) -> dict[str, State]:
        return {e.execution_id.rpartition(".")[2][:1] + str(e.due_at - self.start): e.state for e in self.executions()}


def test_backfilled_fires_of_a_range_are_delivered_one_after_the_other() -> None:
    case = Skipping()
    case.run(550)
    planned = backfill(case.clockwork.world, case.stored, case.start, case.start + 450_000, 100, "key")
    assert planned.count == 5
    case.run(40)
    assert set(case.states().values()) == {State.SUCCEEDED}
    mine = [d for d in case.clockwork.targets.delivered if planned.backfill_id in d.execution_id]
    assert len({d.execution_id for d in mine}) == len(mine) == 5


def test_a_backfilled_fire_waits_while_another_execution_is_retried_and_keeps_no_live_one_away() -> None:
    case = Skipping()
    case.run(99)
    case.fails = True
    case.run(2)
    planned = backfill(case.clockwork.world, case.stored, case.start, case.start + 50_000, 100, "key")
    case.run(5)
    (waiting,) = [e for e in case.executions() if planned.backfill_id in e.execution_id]
    assert (waiting.state, waiting.attempt, waiting.reason) == (State.PENDING, 0, WAITS)
    case.fails = False
    before = case.clockwork.clock.at
    case.run(60)
    assert case.states() == {"b0": State.SUCCEEDED, "0100000": State.SUCCEEDED}
    assert max(e.attempts[-1].ended_at for e in case.executions()) < before + 40_000


def test_a_live_fire_is_not_skipped_because_of_one_that_waits() -> None:
    case = Skipping()
    case.run(190)
    case.fails = True
    trigger.run_now(case.clockwork.world, case.stored, None)
    case.run(2)
    backfill(case.clockwork.world, case.stored, case.start, case.start + 150_000, 100, "key")
    case.run(1)
    case.fails = False
    case.run(6)
    states = case.states()
    assert [state for name, state in states.items() if name.startswith("b")].count(State.PENDING) == 2
    # The run by hand is still retried, so the fire at 200 s is skipped, and not because of those that wait.
    case.run(30)
    assert case.states()["0200000"] is State.SKIPPED
    case.run(75)
    assert case.states()["0300000"] is State.SUCCEEDED
    assert State.PENDING not in case.states().values()


def test_while_it_waits_a_return_writes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    case = Skipping()
    case.run(99)
    case.fails = True
    case.run(2)
    planned = backfill(case.clockwork.world, case.stored, case.start, case.start + 50_000, 100, "key")
    case.run(1.5)
    saved: list[str] = []
    save = MemoryExecutions.save

    def saving(self: MemoryExecutions, changes: object) -> object:
        saved.extend(after.execution_id for _, after in changes)  # type: ignore[attr-defined]
        return save(self, changes)  # type: ignore[arg-type]

    monkeypatch.setattr(MemoryExecutions, "save", saving)
    case.run(12)
    assert not [one for one in saved if planned.backfill_id in one]
    assert case.clockwork.queue.messages


def test_another_copy_comes_back_soon_and_less_and_less_often_until_the_claim_ends() -> None:
    case = Named()
    looked: list[int] = []

    def slow(_: object) -> object:
        # While the attempt is under way a duplicate of its message is received time after time.
        clockwork = case.clockwork
        (message,) = [m for m in clockwork.queue.messages.values() if "copy" not in m.message_id][:1]
        copy = Message("copy", message.body, 1)
        end = clockwork.clock.at + clockwork.settings.deliverer_timeout_seconds * 1000 + 4_000
        while True:
            before = set(clockwork.queue.messages)
            deliver_batch(clockwork.world, [copy], clockwork.clock.now() + 20_000)
            (sent,) = [m for key, m in clockwork.queue.messages.items() if key not in before]
            looked.append(sent.visible_at - clockwork.clock.at)
            del clockwork.queue.messages[sent.message_id]
            if sent.visible_at >= end - 1_000:
                raise _Over
            clockwork.clock.at = sent.visible_at
            copy = Message("copy", sent.body, 1)

    case.clockwork.targets._answer = slow  # type: ignore[assignment]
    with pytest.raises(_Over):
        case.run(12)
    assert looked[:4] == [2_000, 3_000, 4_000, 6_000]  # whole seconds, rounded down
    assert sum(looked) <= 24_000


class _Over(BaseException):
    pass


def test_an_ordered_backfilled_fire_does_not_wait_for_one_that_lies_behind_it_in_their_order() -> None:
    case = Skipping(ordering_key="order-17")
    case.run(150)
    planned = backfill(case.clockwork.world, case.stored, case.start, case.start + 50_000, 100, "key")
    fires = [e for e in case.executions() if planned.backfill_id not in e.execution_id]
    # One that was due earlier is redriven meanwhile: it waits behind the head of the order.
    occurrence = release_at(case.stored, fires[-1].due_at).occurrence
    dead = changed(fires[-1], state=State.DEAD, occurrence=occurrence)
    redriven = plan_redrive(dead, case.stored.partition_id, case.clockwork.clock.now()).execution
    assert redriven is not None
    assert case.clockwork.executions.save([(fires[-1], redriven)])[0].ok
    case.run(40)
    (mine,) = [e for e in case.executions() if planned.backfill_id in e.execution_id]
    assert mine.state is State.SUCCEEDED


def test_an_ordered_backfilled_fire_does_not_wait_for_a_retry_that_a_sweep_sent_behind_it() -> None:
    case, backfill_id = _a_retry_behind_a_backfilled_head()
    case.run(60)
    retried, backfilled = case.executions()
    assert backfilled.execution_id.endswith(backfill_id)
    assert (retried.state, retried.attempt, backfilled.state) == (State.SUCCEEDED, 2, State.SUCCEEDED)


def test_a_backfilled_fire_that_leaves_its_order_waits_for_a_retry_that_lay_behind_it_there() -> None:
    case, backfill_id = _a_retry_behind_a_backfilled_head()
    reports = Completion(heartbeat_seconds=600, timeout_seconds=3_600)
    reported = case.definition(every_ms=100_000, overlap="skip", retry_policy=RETRIED, completion=reports)
    case.change(replaced(reported, b"reported"))
    case.run(10)
    retried, backfilled = case.executions()
    assert backfilled.execution_id.endswith(backfill_id)
    assert (retried.state, backfilled.state, backfilled.reason) == (State.FAILED, State.PENDING, WAITS)
    case.run(10)
    retried, backfilled = case.executions()
    assert (retried.attempt, retried.state, backfilled.state) == (2, State.RUNNING, State.PENDING)


def _a_retry_behind_a_backfilled_head() -> tuple[Skipping, str]:
    """The head of the order waits for its retry, becomes a dead letter, and a sweep sends it again, at the end."""
    case = Skipping(ordering_key="order-17", sequence=1)
    case.fails = True
    case.run(105)
    case.fails = False
    planned = backfill(case.clockwork.world, case.stored, case.start, case.start + 50_000, 100, "key")
    case.run(3)
    queue = case.clockwork.ordered_queue
    head = next(iter(queue.messages.values()))
    queue.dead[head.message_id] = queue.messages.pop(head.message_id)
    head.visible_at = case.clockwork.clock.at
    assert sweep_dead_letters(case.clockwork.world, case.clockwork.clock.at + 60_000).released == 1
    return case, planned.backfill_id
