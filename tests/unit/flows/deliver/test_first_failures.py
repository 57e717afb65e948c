"""First failures at record level `none`: recorded behind their retries, so that no copy of a message loses one."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

import pytest

from clockwork.domain.errors import Unavailable
from clockwork.domain.executions import Execution, Outcome, State
from clockwork.domain.lifecycle.cancels import Verdict
from clockwork.domain.policies import RetryPolicy
from clockwork.domain.releases import Delivery, Refused, Release
from clockwork.flows.access import Caller
from clockwork.flows.requests.cancel import cancel_job
from tests.support.examples import ALICE, failure, success
from tests.support.regulated import Regulated

MINE = Caller(ALICE, client_ids=frozenset({"acme"}))
SOON = RetryPolicy(max_attempts=3, backoff="fixed", initial_seconds=5, jitter="none")


def failing(policy: RetryPolicy = SOON) -> tuple[Regulated, str]:
    """A job at level none that was released, and whose first attempt is about to fail."""
    regulated = Regulated()
    regulated.accepts = False
    (job_id,) = regulated.create(1, record="none", retry_policy=policy)
    regulated.run(1)
    return regulated, job_id


def records(regulated: Regulated) -> list[Execution]:
    return list(regulated.clockwork.executions.all())


def test_a_first_failure_is_recorded_and_each_later_attempt_is_claimed() -> None:
    regulated, _ = failing()
    assert len(regulated.run(8)) == 1
    (waiting,) = records(regulated)
    assert (waiting.state, waiting.attempt, waiting.revision, waiting.budget.unclaimed) == (State.FAILED, 1, 1, True)
    regulated.accepts = True
    assert [one.attempt for one in regulated.run(30)] == [2]
    (ended,) = records(regulated)
    # Three writes: the failure, the claim of the retry, and its outcome.
    assert (ended.state, ended.revision, [one.number for one in ended.attempts]) == (State.SUCCEEDED, 3, [1, 2])
    assert not regulated.clockwork.queue.messages


def test_a_success_leaves_no_record() -> None:
    regulated, _ = failing()
    regulated.accepts = True
    assert len(regulated.run(8)) == 1
    assert not records(regulated)


class Died(BaseException):
    """The deliverer's process has ended."""


def stopped(regulated: Regulated, ends: BaseException, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first attempt fails, and the save of its record ends so."""

    def save(_: Sequence[tuple[Execution | None, Execution]]) -> None:
        raise ends

    with monkeypatch.context() as patched:
        patched.setattr(regulated.clockwork.executions, "save", save)
        with suppress(Died):
            regulated.run(6)
    assert len(regulated.clockwork.targets.delivered) == 1
    assert not records(regulated)


def test_a_retry_whose_failure_could_not_be_recorded_makes_the_record(monkeypatch: pytest.MonkeyPatch) -> None:
    regulated, _ = failing()
    stopped(regulated, Unavailable("no answer"), monkeypatch)
    assert [one.attempt for one in regulated.run(60)] == [2, 3]
    (dead,) = records(regulated)
    assert (dead.state, dead.attempt, [one.number for one in dead.attempts]) == (State.DEAD, 3, [2, 3])
    assert dead.budget.unclaimed
    assert not regulated.clockwork.queue.messages


def test_a_deliverer_that_dies_behind_the_retry_leaves_it_to_make_the_record(monkeypatch: pytest.MonkeyPatch) -> None:
    regulated, _ = failing()
    stopped(regulated, Died(), monkeypatch)
    # The retries end it. Then the first message comes back, is delivered once more, and its failure changes nothing.
    assert [one.attempt for one in regulated.run(300)] == [2, 3, 1]
    (dead,) = records(regulated)
    assert (dead.state, dead.attempt) == (State.DEAD, 3)
    assert not regulated.clockwork.queue.messages


def test_a_failure_is_not_recorded_before_its_retry_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    regulated, _ = failing()

    def refuse(releases: Sequence[Release], _now: int) -> Sequence[Refused]:
        return [Refused(index, False, "not now") for index, _ in enumerate(releases)]

    with monkeypatch.context() as patched:
        patched.setattr(regulated.clockwork.queue, "send", refuse)
        assert len(regulated.run(6)) == 1
    assert not records(regulated)
    # Its message comes back. If it succeeds then, nothing may be left that waits for a retry.
    regulated.accepts = True
    assert [one.attempt for one in regulated.run(300)] == [1]
    assert not records(regulated)
    assert not regulated.clockwork.queue.messages


@pytest.mark.parametrize("succeeds_at", [1, 2])
def test_of_two_copies_that_fail_and_succeed_none_leaves_a_record_that_waits(succeeds_at: int) -> None:
    regulated, _ = failing()
    clockwork = regulated.clockwork
    (message,) = clockwork.queue.messages.values()
    clockwork.queue.put(message.body, 5)

    def answer(_: Delivery) -> Outcome:
        now = clockwork.clock.now()
        is_good = len(clockwork.targets.delivered) == succeeds_at
        return success(now) if is_good else failure(started_at=now, ended_at=now)

    clockwork.targets._answer = answer
    assert sorted(one.attempt for one in regulated.run(300)) == [1, 1, 2, 3]
    assert [one.state for one in records(regulated)] == [State.DEAD]
    assert not clockwork.queue.messages


def test_of_two_copies_that_fail_the_first_is_recorded_and_each_retry_is_made_once() -> None:
    regulated, _ = failing()
    clockwork = regulated.clockwork
    (message,) = clockwork.queue.messages.values()
    clockwork.queue.put(message.body, 5)
    assert sorted(one.attempt for one in regulated.run(300)) == [1, 1, 2, 3]
    (dead,) = records(regulated)
    assert (dead.state, [one.number for one in dead.attempts]) == (State.DEAD, [1, 2, 3])
    assert not clockwork.queue.messages


def test_a_cancel_of_what_waits_for_its_retry_ends_it_and_promises_nothing() -> None:
    regulated, job_id = failing()
    assert len(regulated.run(8)) == 1
    answer = cancel_job(regulated.clockwork.world, MINE, job_id)
    assert answer.verdict is Verdict.TOO_LATE
    (ended,) = records(regulated)
    assert ended.state is State.CANCELLED
    assert regulated.run(60) == []
    assert not regulated.clockwork.queue.messages


def test_a_cancel_while_a_retry_runs_lets_no_other_follow() -> None:
    regulated, job_id = failing()
    clockwork = regulated.clockwork
    verdicts: list[Verdict] = []

    def cancelling(delivery: Delivery) -> Outcome:
        if delivery.attempt == 2:
            verdicts.append(cancel_job(clockwork.world, MINE, job_id).verdict)
        now = clockwork.clock.now()
        return failure(started_at=now, ended_at=now)

    clockwork.targets._answer = cancelling
    assert [one.attempt for one in regulated.run(120)] == [1, 2]
    assert verdicts == [Verdict.TOO_LATE]
    (ended,) = records(regulated)
    assert (ended.state, len(ended.attempts)) == (State.CANCELLED, 2)
