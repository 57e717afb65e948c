"""Attempts that end by callback: accepted by the target, reported by the receiver, watched until they have ended."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from clockwork.domain.errors import ExecutionNotFound, StaleToken, Unavailable
from clockwork.domain.executions import Execution, Outcome, State
from clockwork.domain.ids import only_execution
from clockwork.domain.lifecycle.reports import Heartbeat
from clockwork.domain.policies import Completion, RetryPolicy
from clockwork.flows.access import Caller
from clockwork.flows.requests.cancel import cancel_execution
from clockwork.flows.requests.create import create_jobs
from clockwork.flows.requests.reporting import Reported, beat, report
from clockwork.flows.timeline.shards import ensure_shards
from clockwork.memory.world import MemoryClockwork
from clockwork.ports import Refused
from clockwork.targets.http import HttpTarget
from tests.support.examples import claim_of, failure, new_job, request, success

CALLER = Caller("arn:aws:iam::123456789012:role/Billing", client_ids=frozenset({"acme"}))
STRANGER = Caller("arn:aws:iam::123456789012:role/Other", client_ids=frozenset({"other"}))
DONE = Reported(State.SUCCEEDED, result=b'{"pages":12}')
STOPPED = Reported(State.CANCELLED)
FAILED = Reported(State.FAILED, error="out of paper")
#: No randomness, and retries soon after.
SOON = RetryPolicy(max_attempts=2, backoff="fixed", initial_seconds=5, jitter="none")


class Story:
    """One job that ends by callback, from its create on."""

    def __init__(self, *outcomes: Outcome, before_answer: Callable[[Story], object] | None = None, **job: Any) -> None:
        self.outcomes = list(outcomes)
        self.clockwork = MemoryClockwork(answer=self._answer)
        self.before_answer = before_answer
        given = {"completion": Completion(heartbeat_seconds=60, timeout_seconds=600), "retry_policy": SOON, **job}
        created = create_jobs(
            self.clockwork.world, request(new_job(delay_ms=10_000, **given)), ensure_shards(self.clockwork.world)
        )
        self.job_id = created[0].job_id
        self.execution_id = only_execution(self.job_id, created[0].due_at)
        self.due_at = created[0].due_at
        self.goes_on(12)

    def _answer(self, _: Any) -> Outcome:
        if self.before_answer is not None:
            self.before_answer(self)
        now = self.clockwork.clock.now()
        outcome = self.outcomes.pop(0) if self.outcomes else None
        return success(now) if outcome is None else failure(started_at=now, ended_at=now)

    def goes_on(self, seconds: int) -> None:
        self.clockwork.run_until(self.clockwork.clock.at + seconds * 1000)

    @property
    def record(self) -> Execution:
        found = self.clockwork.executions.find(self.job_id, self.execution_id)
        assert found is not None
        return found

    def token(self, attempt: int = 1) -> str:
        tokens = {one.attempt: one.token for one in self.clockwork.targets.delivered}
        return str(tokens[attempt])

    def report(self, said: Reported, attempt: int = 1) -> Execution:
        return report(self.clockwork.world, CALLER, self.execution_id, self.token(attempt), said)

    def beat(self, attempt: int = 1, **said: Any) -> Execution:
        said = {"now": self.clockwork.clock.now(), **said}
        return beat(self.clockwork.world, CALLER, self.execution_id, self.token(attempt), Heartbeat(**said))

    @property
    def attempts(self) -> list[tuple[int, State]]:
        return [(one.number, one.state) for one in self.record.attempts]


def test_an_accepted_attempt_runs_until_its_receiver_reports() -> None:
    story = Story()
    assert story.record.state is State.RUNNING
    assert story.record.awaited is not None
    accepted_at = story.record.awaited.accepted_at
    assert accepted_at is not None
    assert claim_of(story.record).until == accepted_at + 60_000
    assert story.record.awaited.deadline_at == story.due_at + 600_000
    assert len(story.clockwork.queue.messages) == 1
    done = story.report(DONE)
    assert (done.state, done.awaited, done.kept.occurrence) == (State.SUCCEEDED, None, None)
    assert done.end.report is not None
    assert done.end.report.result == b'{"pages":12}'
    story.goes_on(90)
    assert not story.clockwork.queue.messages
    assert story.attempts == [(1, State.SUCCEEDED)]


def test_a_job_without_heartbeats_costs_three_writes_of_its_record_and_one_message_more() -> None:
    story = Story()
    sent: list[int] = []
    send = story.clockwork.queue.send
    story.clockwork.queue.send = lambda releases, now: sent.append(len(releases)) or send(releases, now)  # type: ignore[method-assign,assignment,misc,func-returns-value]
    assert story.record.revision == 2, "its claim, and that it was accepted"
    assert story.report(DONE).revision == 3
    story.goes_on(90)
    assert story.record.revision == 3
    assert sent == [], "the watch was sent at the acceptance, and finds the end"


def test_the_token_is_kept_nowhere() -> None:
    story = Story()
    secret = story.token().rpartition(".")[2]
    assert secret not in repr(story.record)
    assert all(secret not in message.body for message in story.clockwork.queue.messages.values())


def test_a_receiver_that_falls_silent_is_lost_and_the_next_attempt_follows_at_once() -> None:
    story = Story()
    story.goes_on(62)
    assert story.record.state is State.RUNNING
    story.goes_on(5)
    assert story.attempts == [(1, State.WORKER_LOST)]
    assert (story.record.state, story.record.attempt) == (State.RUNNING, 2)
    with pytest.raises(StaleToken):
        story.report(DONE, attempt=1)
    assert story.report(DONE, attempt=2).state is State.SUCCEEDED


def test_lost_receivers_count_against_the_attempts() -> None:
    story = Story()
    story.goes_on(200)
    assert story.attempts == [(1, State.WORKER_LOST), (2, State.WORKER_LOST)]
    assert story.record.state is State.DEAD
    assert story.record.kept.occurrence is not None
    assert not story.clockwork.queue.messages


def test_heartbeats_keep_the_claim_up_to_the_deadline_and_no_longer() -> None:
    story = Story(retry_policy=RetryPolicy(max_attempts=1))
    for _ in range(11):
        story.goes_on(50)
        story.beat()
    assert claim_of(story.record).until == story.due_at + 600_000
    story.goes_on(60)
    assert story.attempts == [(1, State.TIMED_OUT)]
    assert story.record.state is State.DEAD


def test_a_heartbeat_writes_only_if_it_tells_something_or_the_claim_needs_it() -> None:
    story = Story()
    first = story.record
    assert story.beat() == first
    told = story.beat(progress=0.5, message="half-way")
    assert (told.revision, told.awaited and told.awaited.progress) == (first.revision + 1, 0.5)
    story.goes_on(10)
    assert story.beat() == told
    story.goes_on(15)
    assert story.beat().revision == told.revision + 1
    assert story.record.awaited is not None
    assert story.record.awaited.message == "half-way"


def test_news_alone_are_written_once_in_ten_seconds_and_the_latest_go_with_what_is_written() -> None:
    story = Story(completion=Completion(heartbeat_seconds=120, timeout_seconds=600))
    first, written, began_at = story.record, [], story.clockwork.clock.at
    for second in range(300):
        story.clockwork.clock.at = began_at + second * 1_000
        before = story.record.revision
        told = story.beat(progress=second / 1_000, message=f"page {second}")
        if told.revision != before:
            written.append(second)
        assert told.awaited is not None
        assert told.awaited.message == f"page {written[-1]}"
    # The claim is renewed with them: nothing else is written for that.
    assert written == list(range(0, 300, 10))
    assert story.record.revision == first.revision + 30


def test_news_go_with_a_renewal_however_soon_they_come() -> None:
    story = Story(completion=Completion(heartbeat_seconds=12, timeout_seconds=600))
    story.beat(progress=0.1)
    story.clockwork.clock.at += 5_000
    told = story.beat(progress=0.2)
    assert (told.awaited and told.awaited.progress, claim_of(told).until) == (0.2, story.clockwork.clock.at + 12_000)


def test_a_claim_that_reaches_to_its_deadline_is_not_written_at_each_heartbeat() -> None:
    story = Story(completion=Completion(heartbeat_seconds=600, timeout_seconds=600))
    first = story.record
    for _ in range(20):
        story.clockwork.clock.at += 29_000
        assert story.beat() == first


def test_a_heartbeat_before_the_targets_answer_makes_the_claim_the_receivers() -> None:
    said: list[Execution] = []
    story = Story(before_answer=lambda story: said.append(story.beat(progress=0.5)))
    assert said[0].is_accepted and said[0].awaited is not None and said[0].awaited.progress == 0.5
    assert story.record.is_accepted


def test_a_heartbeat_brings_an_ended_claim_back_to_life_while_nobody_has_taken_it() -> None:
    story = Story()
    story.clockwork.clock.at += 61_000
    assert claim_of(story.beat()).until == story.clockwork.clock.at + 60_000
    story.goes_on(30)
    assert (story.record.state, story.record.attempt) == (State.RUNNING, 1)


def test_a_failure_is_retried_as_the_policy_says() -> None:
    story = Story()
    noted = story.report(FAILED)
    assert noted.state is State.RUNNING
    story.goes_on(3)
    assert story.attempts == [(1, State.FAILED)]
    assert story.record.attempts[0].error == "out of paper"
    assert story.record.state is State.FAILED
    story.goes_on(6)
    assert (story.record.state, story.record.attempt) == (State.RUNNING, 2)
    assert story.record.end.report is None


def test_a_failure_may_ask_for_patience_or_for_no_retry() -> None:
    patient = Story()
    patient.report(Reported(State.FAILED, error="busy", retry_after_seconds=120))
    patient.goes_on(100)
    assert patient.record.state is State.FAILED
    patient.goes_on(30)
    assert patient.record.attempt == 2
    final = Story()
    final.report(Reported(State.FAILED, error="no such customer", retryable=False))
    final.goes_on(3)
    assert (final.record.state, final.attempts) == (State.DEAD, [(1, State.FAILED)])


def test_the_same_report_again_gets_the_same_answer_and_another_one_is_stale() -> None:
    story = Story()
    done = story.report(DONE)
    assert story.report(DONE) == done
    assert story.report(Reported(State.SUCCEEDED, result=b"2")) == done
    with pytest.raises(StaleToken):
        story.report(FAILED)
    with pytest.raises(StaleToken):
        story.beat()
    assert story.record == done


def test_a_repeat_sends_the_watch_of_a_failure_that_was_noted_and_no_more() -> None:
    story = Story()
    story.report(FAILED)
    story.clockwork.queue.messages.clear()  # whoever noted it died before the watch was sent
    assert story.report(FAILED).state is State.RUNNING
    story.goes_on(9)
    assert story.attempts == [(1, State.FAILED)]
    assert story.record.attempt == 2
    with pytest.raises(StaleToken):
        story.report(FAILED, attempt=1)


def test_the_first_watch_acts_on_a_failure_whose_own_was_never_sent() -> None:
    story = Story()
    watch = dict(story.clockwork.queue.messages)
    story.report(FAILED)
    story.clockwork.queue.messages.clear()
    story.clockwork.queue.messages.update(watch)
    story.goes_on(63)
    assert story.attempts == [(1, State.FAILED)]


@pytest.mark.parametrize(("said", "state"), [(DONE, State.SUCCEEDED), (FAILED, State.FAILED)])
def test_the_callback_may_come_before_the_answer(said: Reported, state: State) -> None:
    story = Story(before_answer=lambda story: story.report(said))
    assert (story.record.state, story.attempts) == (state, [(1, state)])
    story.before_answer = None
    story.goes_on(6)
    assert story.record.attempt == (1 if state is State.SUCCEEDED else 2)


@pytest.mark.parametrize(("said", "state"), [(DONE, State.SUCCEEDED), (FAILED, State.FAILED)])
def test_a_callback_that_came_first_counts_though_the_target_then_refuses(said: Reported, state: State) -> None:
    story = Story(failure(started_at=0, ended_at=0), before_answer=lambda story: story.report(said))
    assert (story.record.state, story.attempts) == (state, [(1, state)])


def test_a_heartbeat_that_came_first_keeps_the_later_end() -> None:
    def beat_later(story: Story) -> None:
        story.beat(now=story.clockwork.clock.now() + 30_000)

    story = Story(before_answer=beat_later)
    assert claim_of(story.record).until is not None
    assert claim_of(story.record).until >= story.due_at + 90_000


def test_a_refused_attempt_is_retried_and_its_callback_is_stale() -> None:
    story = Story(failure(started_at=0, ended_at=0))
    assert story.attempts == [(1, State.FAILED)]
    with pytest.raises(StaleToken):
        story.report(DONE)
    story.goes_on(10)
    assert story.report(DONE, attempt=2).state is State.SUCCEEDED


def cancel(story: Story) -> str:
    answer, _ = cancel_execution(story.clockwork.world, CALLER, story.execution_id)
    return str(answer.verdict)


def test_a_receiver_hears_of_a_cancel_and_stops() -> None:
    story = Story()
    with pytest.raises(StaleToken, match="nobody has asked"):
        story.report(STOPPED)
    assert cancel(story) == "running"
    assert story.beat().cancel_noted_at is not None
    done = story.report(STOPPED)
    assert (done.state, done.is_forced) == (State.CANCELLED, False)
    assert story.attempts == [(1, State.CANCELLED)]
    assert story.report(STOPPED) == done
    with pytest.raises(StaleToken):
        story.report(DONE)
    story.goes_on(100)
    assert not story.clockwork.queue.messages


def test_a_receiver_that_goes_on_is_ended_by_the_watch_after_the_grace_though_its_lease_is_long() -> None:
    story = Story(completion=Completion(heartbeat_seconds=86_400))
    assert cancel(story) == "running"
    story.goes_on(59)
    assert story.record.state is State.RUNNING
    story.goes_on(10)
    assert (story.record.state, story.record.is_forced) == (State.CANCELLED, True)
    assert story.attempts == [(1, State.CANCELLED)]
    with pytest.raises(StaleToken):
        story.report(DONE)


def test_the_heartbeat_after_the_grace_ends_the_attempt_if_the_watch_was_never_sent() -> None:
    story = Story(completion=Completion(heartbeat_seconds=86_400))
    cancel(story)
    story.clockwork.queue.messages.clear()  # the api died before it sent the watch, and the lease ends in a day
    story.clockwork.clock.at += 59_000
    assert story.beat().state is State.RUNNING
    story.clockwork.clock.at += 2_000
    with pytest.raises(StaleToken):
        story.beat()
    assert (story.record.state, story.record.is_forced) == (State.CANCELLED, True)


def test_a_cancel_that_cannot_send_its_watch_is_not_certain(monkeypatch: pytest.MonkeyPatch) -> None:
    story = Story()
    refused = [Refused(0, permanent=False, reason="throttled")]
    monkeypatch.setattr(story.clockwork.queue, "send", lambda *_: refused)
    with pytest.raises(Unavailable, match="throttled"):
        cancel(story)
    monkeypatch.undo()
    assert cancel(story) == "running"
    story.goes_on(65)
    assert story.record.state is State.CANCELLED


def test_silence_after_a_cancel_ends_with_the_lease() -> None:
    story = Story(completion=Completion(heartbeat_seconds=20))
    cancel(story)
    story.goes_on(26)
    assert (story.record.state, story.record.is_forced) == (State.CANCELLED, False)
    assert story.attempts == [(1, State.WORKER_LOST)]


def test_what_finishes_after_a_cancel_was_noted_has_succeeded() -> None:
    story = Story()
    cancel_execution(story.clockwork.world, CALLER, story.execution_id)
    assert story.report(DONE).state is State.SUCCEEDED


@pytest.mark.parametrize("text", ["", "x", "a.b.1", "a.1.0.1." + "s" * 22])
def test_what_is_no_token_of_the_execution_is_stale(text: str) -> None:
    story = Story()
    before = story.record
    with pytest.raises(StaleToken):
        report(story.clockwork.world, CALLER, story.execution_id, text, DONE)
    secret = story.token().rpartition(".")[2]
    for forged in (f"{story.execution_id}.2.{secret}", f"{story.execution_id}.1.{'x' * 22}"):
        with pytest.raises(StaleToken):
            report(story.clockwork.world, CALLER, story.execution_id, forged, DONE)
    assert story.record == before


def test_another_clients_execution_does_not_exist() -> None:
    story = Story()
    with pytest.raises(ExecutionNotFound):
        report(story.clockwork.world, STRANGER, story.execution_id, story.token(), DONE)


def test_an_attempt_without_completion_takes_no_reports() -> None:
    story = Story(completion=None, target=HttpTarget("https://example.com/"))
    assert story.record.state is State.SUCCEEDED
    assert story.clockwork.targets.delivered[0].token is None
