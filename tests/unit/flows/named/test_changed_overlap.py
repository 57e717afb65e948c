"""A job that becomes `overlap: skip`: nothing of it begins beside what had begun before, however long that takes."""

from __future__ import annotations

from collections import deque

import pytest

from clockwork.domain.executions import Execution, Outcome, State
from clockwork.domain.named.changes import replaced
from clockwork.domain.policies import RetryPolicy
from clockwork.domain.releases import Delivery
from clockwork.flows.named import trigger
from tests.support.examples import failure
from tests.support.named import Named

OTHER = "another execution of its job has not ended"


class Becoming(Named):
    """A job that fires every 10 s. The fires at `fails` fail once; their retry comes `retried_s` later."""

    def __init__(self, *fails: int, retried_s: float = 300) -> None:
        policy = RetryPolicy(backoff="fixed", initial_seconds=retried_s, max_seconds=retried_s, jitter="none")
        super().__init__(retry_policy=policy)
        self.policy = policy
        self._fails = deque(fails)
        self.clockwork.targets._answer = self._answer_of

    def _answer_of(self, delivery: Delivery) -> Outcome:
        second = (delivery.occurrence.due_at - self.start) // 1000
        if self._fails and second == self._fails[0]:
            self._fails.popleft()
            return failure(started_at=self.clockwork.clock.now())
        return self.clockwork.targets._succeed(delivery)

    def becomes(self, overlap: str) -> None:
        self.change(replaced(self.definition(overlap=overlap, retry_policy=self.policy), overlap.encode()))

    def ends(self) -> dict[int, State]:
        return {(e.due_at - self.start) // 1000: e.state for e in self.executions()}

    def at(self, second: int) -> Execution:
        return next(e for e in self.executions() if e.due_at == self.start + second * 1000)


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


def test_a_backfilled_fire_waits_for_a_later_one_that_had_begun_before() -> None:
    case = Becoming(30)
    case.run(35)
    running = case.at(30)
    # A receiver is at work on it, for an hour.
    at_work = running.changed(state=State.RUNNING, claim_until=case.start + 3_600_000, next_attempt_at=None)
    assert case.clockwork.executions.save([(running, at_work)])[0].ok
    case.becomes("skip")
    before = len(case.clockwork.targets.delivered)
    planned = trigger.backfill(
        case.clockwork.world, case.stored, case.start + 5_000, case.start + 15_000, 100, "key", admit=lambda _: None
    )
    assert planned.count == 1
    case.run(30)
    assert len(case.clockwork.targets.delivered) == before
    (waiting,) = [e for e in case.executions() if planned.backfill_id in e.execution_id]
    assert waiting.state is State.PENDING
