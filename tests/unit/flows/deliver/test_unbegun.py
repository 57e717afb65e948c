"""An attempt that never began, as nothing was free for it here: it comes back soon, and counts nowhere."""

from __future__ import annotations

import pytest

from clockwork.domain.executions import Execution, Outcome, State
from clockwork.domain.policies import RetryPolicy
from clockwork.domain.releases import Delivery
from clockwork.flows.requests.cancel import cancel_job
from clockwork.memory.world import MemoryClockwork
from clockwork.settings import Settings
from clockwork.targets.message import Payload
from tests.support.examples import ACME, failure, success
from tests.support.named import MINE, Named
from tests.support.regulated import Regulated

LEAST = Settings.for_local().circuit_least_outcomes
ONCE = RetryPolicy(max_attempts=1)


class Busy:
    """The answer of a machine on which nothing is free for the first `times` attempts. `begun`: the others."""

    def __init__(self, clockwork: MemoryClockwork, times: int) -> None:
        self._clock = clockwork.clock
        self.times = times
        self.accepts = True
        self.begun: list[Delivery] = []
        clockwork.targets._answer = self

    def __call__(self, delivery: Delivery) -> Outcome:
        now = self._clock.now()
        if self.times:
            self.times -= 1
            return Outcome(State.PENDING, now, now, error="nothing is free")
        self.begun.append(delivery)
        return success(now) if self.accepts else failure(started_at=now, ended_at=now)


def only(clockwork: MemoryClockwork) -> Execution:
    (record,) = clockwork.executions.all()
    return record


@pytest.mark.parametrize("record", ["full", "none"])
def test_it_comes_back_soon_and_its_only_attempt_is_still_to_be_made(record: str) -> None:
    regulated = Regulated()
    busy = Busy(regulated.clockwork, 3)
    regulated.create(1, retry_policy=ONCE, record=record)
    regulated.run(15)
    assert [one.attempt for one in busy.begun] == [1]
    stored = [(one.state, one.attempt, len(one.attempts)) for one in regulated.clockwork.executions.all()]
    assert stored == [(State.SUCCEEDED, 1, 1)] * (record == "full")
    assert not regulated.clockwork.queue.messages


def test_meanwhile_its_record_waits_with_the_reason_and_no_attempt() -> None:
    regulated = Regulated()
    busy = Busy(regulated.clockwork, 1)
    regulated.create(1, retry_policy=ONCE, record="full")
    regulated.run(5.5)
    waiting = only(regulated.clockwork)
    assert (waiting.state, waiting.attempt, waiting.attempts) == (State.PENDING, 0, ())
    assert (waiting.reason, waiting.claimant) == ("nothing is free", None)
    regulated.run(5)
    ended = only(regulated.clockwork)
    assert ended.waits.waited is not None
    assert 1_000 <= ended.waits.waited.permit <= 2_500
    assert len(busy.begun) == 1


def test_a_retry_at_level_none_comes_back_too() -> None:
    regulated = Regulated()
    busy = Busy(regulated.clockwork, 0)
    busy.accepts = False
    steady = RetryPolicy(max_attempts=2, backoff="fixed", initial_seconds=2, jitter="none")
    regulated.create(1, retry_policy=steady, record="none")
    regulated.run(6)
    busy.times, busy.accepts = 2, True
    regulated.run(15)
    assert [one.attempt for one in busy.begun] == [1, 2]
    assert (only(regulated.clockwork).state, only(regulated.clockwork).attempt) == (State.SUCCEEDED, 2)


def test_the_next_attempt_of_a_named_job_has_its_whole_payload() -> None:
    named = Named(payload=Payload(b"payload"))
    busy = Busy(named.clockwork, 2)
    named.run(19)
    assert [one.occurrence.payload.body for one in busy.begun] == [b"payload"]
    assert [one.state for one in named.executions()] == [State.SUCCEEDED]


@pytest.mark.parametrize("record", ["full", "none"])
def test_however_many_do_not_begin_no_circuit_opens(record: str) -> None:
    regulated = Regulated()
    busy = Busy(regulated.clockwork, 2 * LEAST)
    regulated.create(2 * LEAST, retry_policy=ONCE, record=record)
    regulated.run(30)
    assert not regulated.clockwork.regulation.circuits(ACME.client_id)
    assert len(busy.begun) == 2 * LEAST


def test_a_probe_that_does_not_begin_gives_its_turn_back() -> None:
    regulated = Regulated()
    regulated.accepts = False
    regulated.create(LEAST, retry_policy=ONCE)
    regulated.run(8)
    regulated.create(20)
    regulated.run(10)
    assert regulated.parked == 20
    busy = Busy(regulated.clockwork, 1)
    regulated.run(30)
    regulated.sweep()
    regulated.run(8)
    assert not busy.times
    assert busy.begun, "the next one that came was the probe"
    assert not regulated.clockwork.regulation.circuits(ACME.client_id)


def test_a_cancel_that_was_noted_meanwhile_is_final() -> None:
    regulated = Regulated()
    clockwork = regulated.clockwork
    (job_id,) = regulated.create(1, record="full")

    def cancelled_meanwhile(_: Delivery) -> Outcome:
        cancel_job(clockwork.world, MINE, job_id)
        return Outcome(State.PENDING, clockwork.clock.now(), clockwork.clock.now(), error="nothing is free")

    clockwork.targets._answer = cancelled_meanwhile
    regulated.run(6)
    assert only(clockwork).state is State.CANCELLED
    assert only(clockwork).cancel_noted_at is not None
    assert regulated.run(10) == []


def test_the_head_of_an_order_comes_back_before_those_behind_it() -> None:
    regulated = Regulated()
    busy = Busy(regulated.clockwork, 1)
    for sequence in range(3):
        regulated.create(1, ordering_key="k", sequence=sequence, record="full", delay_ms=5_000 + sequence)
    regulated.run(40)
    assert [one.occurrence.sequence for one in busy.begun] == [0, 1, 2]
