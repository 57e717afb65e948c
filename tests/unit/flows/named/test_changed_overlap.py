"""A job that becomes `overlap: skip`: nothing of it begins beside what had begun before, however long that takes."""

from __future__ import annotations

from collections import deque
from typing import Any

import msgspec
import pytest

from clockwork.domain.executions import Execution, Outcome, State
from clockwork.domain.named.changes import replaced
from clockwork.domain.named.overlaps import WAITS
from clockwork.domain.policies import Completion, RetryPolicy
from clockwork.domain.releases import Delivery, Release
from clockwork.domain.storage.codec import decode_message
from clockwork.flows.deliver.deliver import deliver_batch
from clockwork.flows.deliver.inbox import Message
from clockwork.flows.deliver.items import DeliverReport
from clockwork.flows.named import trigger
from clockwork.targets.kafka.target import KafkaTarget
from tests.support.examples import ACME, changed, failure
from tests.support.named import Named

OTHER = "another execution of its job has not ended"


class Becoming(Named):
    """A job that fires every 10 s. The fires at `fails` fail once; their retry comes `retried_s` later."""

    def __init__(self, *fails: int, retried_s: float = 300, **definition: Any) -> None:
        policy = RetryPolicy(backoff="fixed", initial_seconds=retried_s, max_seconds=retried_s, jitter="none")
        super().__init__(retry_policy=policy, **definition)
        self.policy = policy
        self._fails = deque(fails)
        self.clockwork.targets._answer = self._answer_of

    def _answer_of(self, delivery: Delivery) -> Outcome:
        second = (delivery.occurrence.due_at - self.start) // 1000
        if self._fails and second == self._fails[0]:
            self._fails.popleft()
            return failure(started_at=self.clockwork.clock.now())
        return self.clockwork.targets._succeed(delivery)

    def becomes(self, overlap: str, **definition: Any) -> None:
        wanted = self.definition(overlap=overlap, retry_policy=self.policy, **definition)
        self.change(replaced(wanted, overlap.encode()))

    def ends(self) -> dict[int, State]:
        return {(e.due_at - self.start) // 1000: e.state for e in self.executions()}

    def at(self, second: int) -> Execution:
        return next(e for e in self.executions() if e.due_at == self.start + second * 1000)

    def is_at_work(self, second: int) -> Execution:
        """A receiver is at work on the execution, for an hour; returns its record."""
        before = self.at(second)
        after = changed(before, state=State.RUNNING, claim_until=self.start + 3_600_000, next_attempt_at=None)
        assert self.clockwork.executions.save([(before, after)])[0].ok
        return after


@pytest.mark.parametrize("after", [1, 9, 10, 11, 15])
def test_a_fire_is_skipped_beside_a_retry_of_before_however_many_have_succeeded_since(after: int) -> None:
    case = Becoming(10)
    case.run(15 + 10 * after)
    assert case.at(10).state is State.FAILED
    case.becomes("skip")
    assert case.run(30) == []
    skipped = [e for e in case.executions() if e.state is State.SKIPPED]
    assert [e.reason for e in skipped] == [OTHER] * 3


def test_fires_go_again_once_what_had_begun_before_has_ended() -> None:
    case = Becoming(10, retried_s=100)
    case.run(95)
    case.becomes("skip")
    assert case.run(10) == []
    assert case.run(30) == [10.0, 120.0, 130.0]


def test_a_job_that_skips_allows_and_skips_again_looks_anew() -> None:
    case = Becoming(30, retried_s=200)
    case.becomes("skip")
    case.run(25)
    case.becomes("allow")
    case.run(120)
    assert case.at(30).state is State.FAILED
    case.becomes("skip")
    assert case.run(30) == []


def test_what_was_let_through_before_its_job_became_allow_does_not_go_on_beside_what_began_since() -> None:
    case = Becoming(10, 30, retried_s=100)
    case.becomes("skip")
    case.run(15)
    case.becomes("allow")
    case.run(20)
    at_work = case.is_at_work(30)
    case.becomes("skip")
    assert case.run(100) == []
    assert (case.at(10).state, case.at(10).reason) == (State.SKIPPED, OTHER)
    assert case.clockwork.executions.save([(at_work, at_work.changed(state=State.SUCCEEDED))])[0].ok
    assert case.run(10) == [140.0]


def test_nothing_begins_while_a_backfilled_fire_that_began_before_is_put_off() -> None:
    case = Becoming(30, 10, retried_s=30)
    case.run(35)
    trigger.backfill(
        case.clockwork.world, case.stored, case.start + 5_000, case.start + 15_000, 100, "key", admit=lambda *_: None
    )
    case.run(4)
    (begun,) = [e for e in case.executions() if e.state is State.FAILED and e.due_at < case.at(30).due_at]
    at_work = case.is_at_work(30)
    case.becomes("skip")
    assert case.run(35) == []
    (put_off,) = [e for e in case.executions() if e.execution_id == begun.execution_id]
    assert (put_off.state, put_off.reason, len(put_off.attempts)) == (State.PENDING, WAITS, 1)
    assert case.clockwork.executions.save([(at_work, at_work.changed(state=State.SUCCEEDED))])[0].ok
    for message in case.clockwork.queue.messages.values():
        (release,) = decode_message(message.body)
        if _is_of(release, begun):
            message.visible_at += 15_000  # it comes back late
    assert case.run(35) == [10.0, 100.0]
    assert {case.at(80).state, case.at(90).state} == {State.SKIPPED}


def test_of_backfilled_fires_that_began_before_all_go_on_though_the_deliverer_of_one_was_lost() -> None:
    """The one whose deliverer was lost has a claim that ended, and no attempt is noted yet."""
    case = Becoming(30, 10, 20, retried_s=30)
    case.run(35)
    trigger.backfill(
        case.clockwork.world, case.stored, case.start + 5_000, case.start + 25_000, 100, "key", admit=lambda *_: None
    )
    case.run(4)
    at_work = case.is_at_work(30)
    began = sorted(e.execution_id for e in case.executions() if e.state is State.FAILED)
    assert len(began) == 2
    case.becomes("skip")
    case.run(35)
    (before,) = [e for e in case.executions() if e.execution_id == began[0]]
    now = case.clockwork.clock.now()
    lost = changed(before, state=State.RUNNING, claim_until=now, attempts=(), reason=None, next_attempt_at=None)
    assert case.clockwork.executions.save([(before, lost)])[0].ok
    assert case.clockwork.executions.save([(at_work, at_work.changed(state=State.SUCCEEDED))])[0].ok
    case.run(120)
    ended = {e.execution_id: e.state for e in case.executions()}
    assert [ended[one] for one in began] == [State.SUCCEEDED] * 2


def test_a_backfilled_fire_waits_for_a_later_one_that_had_begun_before() -> None:
    case = Becoming(30)
    case.run(35)
    case.is_at_work(30)
    case.becomes("skip")
    before = len(case.clockwork.targets.delivered)
    planned = trigger.backfill(
        case.clockwork.world, case.stored, case.start + 5_000, case.start + 15_000, 100, "key", admit=lambda *_: None
    )
    assert planned.count == 1
    case.run(30)
    assert len(case.clockwork.targets.delivered) == before
    (waiting,) = [e for e in case.executions() if planned.backfill_id in e.execution_id]
    assert waiting.state is State.PENDING


def test_of_fires_that_leave_an_order_none_begins_beside_its_head(monkeypatch: pytest.MonkeyPatch) -> None:
    """The head waits for its retry, and the others lie behind it, until their job skips and ends by reports."""
    case = Becoming(10, ordering_key="one by one")
    case.run(45)
    head = case.at(10)
    assert (head.state, len(case.executions())) == (State.FAILED, 1)
    case.becomes("skip", completion=Completion(heartbeat_seconds=600, timeout_seconds=3_600))
    clockwork, deliver_ordered, late = case.clockwork, case.clockwork.deliver_ordered, set[str]()

    def let_the_head_come_late() -> DeliverReport:
        report = deliver_ordered()
        for message in clockwork.queue.messages.values():
            (release,) = decode_message(message.body)
            if message.message_id not in late and _is_of(release, head):
                late.add(message.message_id)
                message.visible_at = clockwork.clock.at + 15_000
        return report

    monkeypatch.setattr(clockwork, "deliver_ordered", let_the_head_come_late)
    assert case.run(285) == [10.0]
    assert late
    assert {case.at(second).state for second in (20, 30, 40)} == {State.SKIPPED}


def _with_kafka_apart(case: Becoming) -> dict[str, Any]:
    """Gives releases to Kafka a queue of their own; returns the target of the job from now on."""
    clockwork = case.clockwork
    clockwork.world = clockwork.world.with_(settings=clockwork.settings.with_(kafka_release_queue_url="of Kafka"))
    clockwork.clients.put(msgspec.structs.replace(ACME, allowed_topics=("orders",)))
    return {"ordering_key": "one by one", "sequence": 1, "target": KafkaTarget("orders")}


def test_nothing_begins_in_the_queue_of_another_target_beside_a_retry_in_the_former_one() -> None:
    case = Becoming(10, ordering_key="one by one", overlap="skip", sequence=1)
    moved = _with_kafka_apart(case)
    case.run(15)
    case.becomes("skip", **moved)
    assert case.run(290) == []
    assert {case.at(second).state for second in (20, 100, 300)} == {State.SKIPPED}
    assert 10.0 in case.run(20)


def test_a_backfilled_head_does_not_wait_for_a_retry_that_came_behind_it_from_the_former_queue() -> None:
    case = Becoming(10, ordering_key="one by one", overlap="skip", sequence=1)
    moved = _with_kafka_apart(case)
    case.run(25)
    case.becomes("skip", **moved)
    planned = trigger.backfill(
        case.clockwork.world, case.stored, case.start, case.start + 5_000, 100, None, admit=lambda *_: None
    )
    case.run(20)
    (waiting,) = [one for one in case.executions() if planned.backfill_id in one.execution_id]
    assert (waiting.state, waiting.reason) == (State.PENDING, WAITS)
    delivered = case.run(275)
    assert delivered[0] == 0.0
    assert 10.0 in delivered


def _is_of(release: object, execution: Execution) -> bool:
    return isinstance(release, Release) and release.execution_id == execution.execution_id


def late(*fails: int) -> Becoming:
    """A job that becomes `overlap: skip` while the retries of two fires wait, and whose deliverers are late by 20 s."""
    case = Becoming(*fails)
    case.run(25)
    assert {case.at(second).state for second in fails} == {State.FAILED}
    case.becomes("skip")
    case.run(280)
    case.clockwork.clock.at = case.start + 325_000
    return case


def test_of_two_retries_in_one_batch_the_one_that_is_due_first_goes_on() -> None:
    case = late(10, 20)
    for _ in range(4):
        case.clockwork.deliver_visible()
    assert (case.at(10).state, case.at(20).state) == (State.SUCCEEDED, State.SKIPPED)
    assert case.at(20).reason == OTHER


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("call", ["get", "put"])
def test_of_two_retries_at_two_deliverers_one_goes_on(first: int, call: str, monkeypatch: pytest.MonkeyPatch) -> None:
    case = late(10, 20)
    clockwork = case.clockwork
    found = [one for one in clockwork.queue.receive(100) if decode_message(one.body)[0].attempt == 2]
    retries = [Message(one.message_id, one.body, 1) for one in (found[first], found[1 - first])]
    inner = getattr(clockwork.turnstiles, call)

    def overtaken(*asked: object) -> object:
        if len(retries) > 1:
            _deliver(case, retries.pop())
        return inner(*asked)

    monkeypatch.setattr(clockwork.turnstiles, call, overtaken)
    for retry in retries[:]:
        _deliver(case, retry)
    ends = {case.at(10).state, case.at(20).state}
    assert case.at(10).state is State.SUCCEEDED
    assert ends <= {State.SUCCEEDED, State.SKIPPED}


def _deliver(case: Becoming, message: Message) -> None:
    deliver_batch(case.clockwork.world, [message], case.clockwork.clock.now() + 60_000)
