"""Attempts on threads: all run at once, none is lost, and the deliverer waits for none beyond its deadline."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator

import msgspec
import pytest

from clockwork.aws.targets.http import HttpTransport
from clockwork.aws.targets.threads import ThreadedTargets
from clockwork.domain.executions import Outcome, State
from clockwork.domain.releases import Delivery
from clockwork.ports import Targets
from clockwork.targets.http import HttpTarget
from clockwork.targets.sqs import SqsTarget
from tests.contract.receiver import Receiver, WallClock, answer, answering, delivery_to
from tests.support.promptness import promptly

SECRET = "whsec_c2VjcmV0"
TARGET = HttpTarget("https://example.com/")


class Scripted:
    """A transport that does what a test says."""

    def __init__(self, act: Callable[[Delivery], Outcome]) -> None:
        self.act = act
        self.delivered: list[Delivery] = []

    def deliver(self, delivery: Delivery) -> Outcome:
        self.delivered.append(delivery)
        return self.act(delivery)


def success(delivery: Delivery) -> Outcome:
    return Outcome(State.SUCCEEDED, 1, 2, status_code=delivery.attempt)


@pytest.fixture
def may_answer() -> Iterator[threading.Event]:
    event = threading.Event()
    yield event
    event.set()


def hanging(event: threading.Event) -> Scripted:
    def act(delivery: Delivery) -> Outcome:
        event.wait(10)
        return success(delivery)

    return Scripted(act)


@pytest.fixture
def make() -> Iterator[Callable[..., ThreadedTargets]]:
    made: list[ThreadedTargets] = []

    def make(transport: Scripted | HttpTransport, **options: float) -> ThreadedTargets:
        targets = ThreadedTargets({HttpTarget: transport}, WallClock(), **options)  # type: ignore[arg-type]
        made.append(targets)
        return targets

    yield make
    for targets in made:
        targets.close()


def collect_all(targets: Targets) -> dict[int, Outcome]:
    outcomes: dict[int, Outcome] = {}
    while ended := targets.collect():
        for slot, outcome in ended:
            assert slot not in outcomes
            outcomes[slot] = outcome
    return outcomes


def test_each_outcome_comes_once_under_its_slot(make: Callable[..., ThreadedTargets]) -> None:
    targets = make(Scripted(success), threads=3)
    for slot in range(40):
        targets.begin(slot, delivery_to(TARGET, attempt=slot + 1))
    assert {slot: outcome.status_code for slot, outcome in collect_all(targets).items()} == {
        slot: slot + 1 for slot in range(40)
    }


def test_nothing_under_way_is_answered_at_once(make: Callable[..., ThreadedTargets]) -> None:
    assert make(Scripted(success)).collect() == []


def test_all_attempts_of_a_batch_run_at_the_same_time(make: Callable[..., ThreadedTargets]) -> None:
    together = threading.Barrier(16)

    def meet(delivery: Delivery) -> Outcome:
        together.wait(5)
        return success(delivery)

    targets = make(Scripted(meet))
    for slot in range(16):
        targets.begin(slot, delivery_to(TARGET))
    assert {outcome.state for outcome in collect_all(targets).values()} == {State.SUCCEEDED}


def test_what_has_ended_is_not_held_up_by_what_has_not(
    make: Callable[..., ThreadedTargets], may_answer: threading.Event
) -> None:
    def act(delivery: Delivery) -> Outcome:
        if delivery.attempt == 1:
            may_answer.wait(10)
        return success(delivery)

    targets = make(Scripted(act))
    targets.begin(1, delivery_to(TARGET, attempt=1))
    targets.begin(2, delivery_to(TARGET, attempt=2))
    assert [slot for slot, _ in targets.collect()] == [2]
    may_answer.set()
    assert [slot for slot, _ in targets.collect()] == [1]


def test_a_fault_of_a_transport_is_an_outcome_and_tells_no_secret(
    make: Callable[..., ThreadedTargets], caplog: pytest.LogCaptureFixture
) -> None:
    def act(delivery: Delivery) -> Outcome:
        raise ZeroDivisionError(SECRET)

    targets = make(Scripted(act))
    targets.begin(7, delivery_to(TARGET))
    with caplog.at_level(logging.ERROR):
        ((slot, outcome),) = targets.collect()
    assert (slot, outcome.state, outcome.permanent) == (7, State.FAILED, False)
    assert outcome.error == "internal fault: ZeroDivisionError"
    (record,) = caplog.records
    assert (record.__dict__["action"], record.__dict__["fault"]) == ("attempt_fault", "ZeroDivisionError")
    assert "in act" in record.__dict__["place"]
    assert SECRET not in str(record.__dict__)


def test_a_target_without_a_transport_is_an_outcome(make: Callable[..., ThreadedTargets]) -> None:
    targets = make(Scripted(success))
    targets.begin(0, delivery_to(SqsTarget("arn:aws:sqs:us-east-1:123456789012:jobs")))
    ((_, outcome),) = targets.collect()
    assert (outcome.state, outcome.permanent) == (State.FAILED, False)


def test_a_transport_that_overruns_its_deadline_is_not_waited_for(
    make: Callable[..., ThreadedTargets], may_answer: threading.Event
) -> None:
    targets = make(hanging(may_answer), grace_seconds=0.1)

    def overrun() -> Outcome:
        targets.begin(0, delivery_to(TARGET, seconds=0.2))
        ((_, outcome),) = targets.collect()
        return outcome

    outcome, seconds = promptly(overrun, 0.9)
    assert 0.2 < seconds < 0.9
    assert (outcome.state, outcome.permanent) == (State.TIMED_OUT, False)
    assert outcome.error == "the attempt did not end by its deadline"
    assert targets.collect() == []


def test_threads_that_hang_do_not_hold_up_the_next_attempts(
    make: Callable[..., ThreadedTargets], may_answer: threading.Event
) -> None:
    transport = hanging(may_answer)
    targets = make(transport, threads=2, grace_seconds=0)
    for slot in range(2):
        targets.begin(slot, delivery_to(TARGET, seconds=0.1))
    assert {outcome.state for outcome in collect_all(targets).values()} == {State.TIMED_OUT}
    transport.act = success
    targets.begin(2, delivery_to(TARGET, seconds=1))
    assert collect_all(targets)[2].state is State.SUCCEEDED


def test_what_is_forgotten_is_not_collected_and_holds_up_nothing(
    make: Callable[..., ThreadedTargets], may_answer: threading.Event
) -> None:
    transport = hanging(may_answer)
    targets = make(transport, threads=2)
    for slot in range(5):
        targets.begin(slot, delivery_to(TARGET, attempt=slot + 1))
    targets.forget()
    assert targets.collect() == []
    transport.act = success
    targets.begin(0, delivery_to(TARGET, attempt=7))
    assert [(slot, outcome.status_code) for slot, outcome in targets.collect()] == [(0, 7)]
    may_answer.set()
    assert targets.collect() == []
    assert {delivery.attempt for delivery in transport.delivered} <= {1, 2, 7}


def test_what_was_forgotten_and_ends_later_is_no_outcome_of_its_slots_next_attempt(
    make: Callable[..., ThreadedTargets], may_answer: threading.Event
) -> None:
    ended = threading.Event()

    def act(delivery: Delivery) -> Outcome:
        if delivery.attempt == 1:
            may_answer.wait(10)
            ended.set()
        else:
            ended.wait(10)
            time.sleep(0.05)  # the first is collected before, if it is collected at all
        return success(delivery)

    targets = make(Scripted(act))
    targets.begin(0, delivery_to(TARGET, attempt=1))
    targets.forget()
    targets.begin(0, delivery_to(TARGET, attempt=2))
    may_answer.set()
    assert [(slot, one.status_code) for slot, one in targets.collect()] == [(0, 2)]
    assert targets.collect() == []


def test_an_attempt_that_found_no_thread_until_its_deadline_never_starts(
    make: Callable[..., ThreadedTargets], may_answer: threading.Event
) -> None:
    transport = hanging(may_answer)
    targets = make(transport, threads=1, grace_seconds=0)
    targets.begin(0, delivery_to(TARGET, attempt=1, seconds=0.3))
    targets.begin(1, delivery_to(TARGET, attempt=2, seconds=0.1))
    ((slot, outcome),) = targets.collect()
    assert (slot, outcome.state) == (1, State.PENDING), "it is no attempt"
    assert outcome.started_at == outcome.ended_at
    assert outcome.error == "no thread was free to start in time"
    may_answer.set()
    assert collect_all(targets)[0].state is State.SUCCEEDED
    assert [delivery.attempt for delivery in transport.delivered] == [1]


def test_sixteen_deliveries_at_once_share_the_transport(make: Callable[..., ThreadedTargets]) -> None:
    class NoSecrets:
        def get(self, name: str) -> str:
            raise AssertionError(name)

    transport = HttpTransport(WallClock(), NoSecrets())
    targets = make(transport)
    with Receiver(answering(answer("200 OK", b"thanks"))) as receiver:
        target = HttpTarget(f"http://127.0.0.1:{receiver.port}/", private=True)
        for _ in range(5):
            for slot in range(16):
                targets.begin(slot, delivery_to(target))
            assert {outcome.state for outcome in collect_all(targets).values()} == {State.SUCCEEDED}
        assert len(receiver.requests) == 80
        assert receiver.connections <= 16
    transport.close()


def test_an_attempt_that_is_taken_up_after_its_deadline_is_not_sent(make: Callable[..., ThreadedTargets]) -> None:
    """As when its environment was frozen before a thread took it up, and is thawed for another invocation."""
    transport = Scripted(success)
    targets = make(transport)
    targets.begin(0, msgspec.structs.replace(delivery_to(TARGET), deadline_at=WallClock().now()))
    (outcome,) = collect_all(targets).values()
    assert outcome.state is State.TIMED_OUT
    assert outcome.error == "its time was over before it was sent"
    assert transport.delivered == []
