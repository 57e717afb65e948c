"""Attempts that end by the word of AWS: told by an event, asked by a watch, stopped by a cancel or at the deadline."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from clockwork.domain.errors import Unavailable
from clockwork.domain.executions import Execution, Outcome, State
from clockwork.domain.ids import only_execution
from clockwork.domain.lifecycle.awaiting import CLAIM_GRACE_MS, GIVE_UP_MS, is_claimed
from clockwork.domain.policies import Completion, RetryPolicy
from clockwork.domain.releases import Deliver, Delivery, Of
from clockwork.domain.storage.codec import encode_message
from clockwork.flows.access import Caller
from clockwork.flows.deliver import claim
from clockwork.flows.ends.events import take_ends
from clockwork.flows.requests.cancel import cancel_execution
from clockwork.flows.requests.create import create_jobs
from clockwork.flows.requests.redrive import redrive
from clockwork.flows.timeline.shards import ensure_shards
from clockwork.memory.world import MemoryClockwork
from clockwork.ports import Refused
from clockwork.targets.message import Errand
from clockwork.targets.step_functions import StepFunctionsTarget
from tests.support.examples import ACME, failure, new_job, request, success

CALLER = Caller("arn:aws:iam::123456789012:role/Billing", client_ids=frozenset({"acme"}))
MACHINE = "arn:aws:states:us-east-1:123456789012:stateMachine:orders"
SOON = RetryPolicy(max_attempts=3, backoff="fixed", initial_seconds=5, jitter="none")
LASTS_S = 3_600


class Story:
    """One job whose attempts begin executions of a state machine."""

    def __init__(self, *outcomes: Outcome, before_answer: Callable[[Story], object] | None = None, **job: Any) -> None:
        self.outcomes = list(outcomes)
        self.before_answer = before_answer
        self.answer: Callable[[Delivery], Outcome] = self.runs
        self.clockwork = MemoryClockwork(answer=self._begun)
        self.clockwork.targets.ask = lambda delivery: self.answer(delivery)
        given = {
            "target": StepFunctionsTarget(MACHINE),
            "completion": Completion("end", timeout_seconds=LASTS_S),
            "retry_policy": SOON,
            **job,
        }
        self.clockwork.clients.put(msgspec.structs.replace(ACME, allowed_target_arns=(MACHINE, "arn:aws:ecs:*")))
        world = self.clockwork.world
        (created,) = create_jobs(world, request(new_job(delay_ms=10_000, **given)), ensure_shards(world))
        self.job_id, self.due_at = created.job_id, created.due_at
        self.execution_id = only_execution(self.job_id, created.due_at)
        self.goes_on(12)

    def _begun(self, delivery: Delivery) -> Outcome:
        if self.before_answer is not None:
            self.before_answer(self)
        outcome = self.outcomes.pop(0) if self.outcomes else None
        return success(self.now) if outcome is None else failure(started_at=self.now, ended_at=self.now)

    @property
    def now(self) -> int:
        return self.clockwork.clock.now()

    def told(self, state: State, **more: Any) -> Outcome:
        return Outcome(state, self.now, self.now, told=True, **more)

    def runs(self, _: Delivery) -> Outcome:
        return self.told(State.RUNNING)

    def silent(self, _: Delivery) -> Outcome:
        return Outcome(State.TIMED_OUT, self.now, self.now, error="Step Functions did not answer in time")

    def goes_on(self, seconds: float) -> None:
        self.clockwork.run_until(self.clockwork.clock.at + int(seconds * 1000))

    @property
    def record(self) -> Execution:
        found = self.clockwork.executions.find(self.job_id, self.execution_id)
        assert found is not None
        return found

    def name(self, number: int = -1) -> str:
        """The name with which an attempt began its execution."""
        entry = StepFunctionsTarget(MACHINE).entry(self.clockwork.targets.delivered[number].message)
        return str(entry["name"])

    def event(self, status: str = "SUCCEEDED", number: int = -1, **more: Any) -> str:
        delivery = self.clockwork.targets.delivered[number]
        given = StepFunctionsTarget(MACHINE).entry(delivery.message)["input"]
        detail = {
            "executionArn": f"{MACHINE.replace('stateMachine', 'execution')}:{self.name(number)}",
            "stateMachineArn": MACHINE,
            "name": self.name(number),
            "status": status,
            "input": given,
            "output": '{"pages":12}' if status == "SUCCEEDED" else None,
            **more,
        }
        return json.dumps(
            {"source": "aws.states", "detail-type": "Step Functions Execution Status Change", "detail": detail}
        )

    def tell(self, *bodies: str) -> tuple[int, int, list[str]]:
        """Hands events to their reader; how many ended an attempt, how many did nothing, and which come back."""
        report = take_ends(self.clockwork.world, [(str(n), body) for n, body in enumerate(bodies)])
        return report.ends_told, report.absorbed, report.failed_messages

    def cancel(self) -> None:
        cancel_execution(self.clockwork.world, CALLER, self.execution_id)

    @property
    def attempts(self) -> list[State]:
        return [one.state for one in self.record.attempts]


def test_an_attempt_runs_until_an_event_tells_its_end_and_keeps_its_output() -> None:
    story = Story()
    assert story.record.state is State.RUNNING
    assert story.tell(story.event()) == (1, 0, [])
    done = story.record
    assert (done.state, done.kept.occurrence) == (State.SUCCEEDED, None)
    assert done.end.report is not None
    assert done.end.report.result == b'{"pages":12}'
    story.goes_on(LASTS_S + 100)
    assert not story.clockwork.queue.messages
    assert story.attempts == [State.SUCCEEDED]


def test_nobody_gets_a_token_of_it() -> None:
    story = Story()
    (delivery,) = story.clockwork.targets.delivered
    assert delivery.token is None


def test_a_failure_has_error_and_cause_and_its_retry_begins_an_execution_of_another_name() -> None:
    story = Story()
    assert story.tell(story.event("FAILED", error="Out.OfPaper", cause="tray 2")) == (1, 0, [])
    story.goes_on(8)
    assert story.attempts == [State.FAILED]
    assert "FAILED: Out.OfPaper: tray 2" in str(story.record.attempts[0].error)
    assert story.record.state is State.RUNNING
    assert story.name(1) == f"{story.name(0)}-1"
    assert story.tell(story.event()) == (1, 0, [])
    assert story.attempts == [State.FAILED, State.SUCCEEDED]


def test_an_attempt_that_may_not_have_begun_leaves_its_name_to_the_next_one() -> None:
    story = Story(failure())
    story.goes_on(8)
    assert story.attempts == [State.FAILED]
    assert story.name(1) == story.name(0)


def test_the_event_may_come_before_the_answer_to_the_start() -> None:
    told: list[tuple[int, int, list[str]]] = []
    story = Story(before_answer=lambda one: told.append(one.tell(one.event())))
    assert told == [(1, 0, [])]
    assert (story.record.state, story.attempts) == (State.SUCCEEDED, [State.SUCCEEDED])
    assert story.clockwork.targets.errands == []


def test_a_failure_may_come_before_the_answer_to_the_start() -> None:
    told: list[tuple[int, int, list[str]]] = []

    def tell_first(story: Story) -> None:
        if not told:
            told.append(story.tell(story.event("FAILED", error="Out.OfPaper")))

    story = Story(before_answer=tell_first)
    story.goes_on(8)
    assert (told, story.attempts) == ([(1, 0, [])], [State.FAILED])
    assert story.name(1) == f"{story.name(0)}-1", "it has ended, so its name is used up"


def test_an_event_counts_once_however_often_it_comes() -> None:
    story = Story()
    assert story.tell(story.event(), story.event(), story.event("FAILED", error="no")) == (1, 2, [])
    assert story.attempts == [State.SUCCEEDED]


def test_an_event_of_an_earlier_attempt_changes_nothing() -> None:
    story = Story()
    story.tell(story.event("FAILED", error="no"))
    story.goes_on(8)
    assert story.tell(story.event(number=0)) == (0, 1, [])
    assert story.record.state is State.RUNNING


@pytest.mark.parametrize(
    "made_up",
    [
        {"executionArn": "arn:aws:states:us-east-1:123456789012:execution:orders:clockwork-mine"},
        {"executionArn": "arn:aws:states:us-east-1:123456789012:execution:others:{name}"},
        {"input": '{"executionId":"none"}'},
        {"input": '{"executionId":["none"]}'},
        {"input": '{"no":"executionId"}'},
        {"input": "{"},
        {"input": None},
        {"input": "[" * 100_000},
        {"status": "RUNNING"},
    ],
)
def test_an_event_that_is_made_up_or_names_nothing_changes_nothing(made_up: dict[str, Any]) -> None:
    story = Story()
    named = {name: value and value.replace("{name}", story.name()) for name, value in made_up.items()}
    assert story.tell(story.event(**named)) == (0, 1, [])
    assert story.record.state is State.RUNNING


@pytest.mark.parametrize(
    "body", ["", "[]", "null", "7", '{"source":"aws.states"}', '{"source":"mine","detail-type":""}']
)
def test_a_message_that_is_no_event_is_done_with(body: str) -> None:
    assert Story().tell(body) == (0, 1, [])


def test_without_any_event_the_watch_asks_at_an_age_of_1_2_4_and_8_minutes_and_finds_the_end() -> None:
    story = Story()
    story.goes_on(8 * 60)
    assert len(story.clockwork.targets.errands) == 4
    assert {one.errand for one in story.clockwork.targets.errands} == {Errand.ASK}
    writes = story.record.revision
    story.answer = lambda _: story.told(State.SUCCEEDED, answer=b'{"pages":12}')
    story.goes_on(8 * 60)
    assert story.record.end.report is not None
    assert (story.record.end.report.result, story.record.revision) == (b'{"pages":12}', writes + 1)
    assert not story.clockwork.queue.messages


def test_a_service_that_gives_no_answer_for_minutes_ends_nothing() -> None:
    story = Story()
    story.answer = story.silent
    story.goes_on(30 * 60)
    assert story.record.state is State.RUNNING
    story.answer = lambda _: story.told(State.FAILED, error="no")
    story.goes_on(16 * 60)
    assert story.attempts == [State.FAILED]


def test_a_service_that_does_not_let_itself_be_asked_ends_nothing() -> None:
    story = Story()
    story.answer = lambda _: failure(started_at=story.now, ended_at=story.now, error="AccessDeniedException")
    story.goes_on(30 * 60)
    assert (story.record.state, story.attempts) == (State.RUNNING, [])


def test_at_its_deadline_it_is_stopped_first_and_times_out_by_the_word_of_its_service() -> None:
    story = Story()
    story.goes_on(LASTS_S)
    assert story.clockwork.targets.errands[-1].errand is Errand.STOP
    assert story.record.state is State.RUNNING, "no other attempt starts beside it"
    assert len(story.clockwork.targets.delivered) == 1
    story.answer = lambda _: story.told(State.FAILED, error="ABORTED: Clockwork.Stopped")
    story.goes_on(20)
    assert (story.attempts, len(story.clockwork.targets.delivered)) == ([State.FAILED], 2)


def test_it_counts_as_running_for_others_of_its_job_until_its_service_is_given_up() -> None:
    story = Story()
    ends = story.record.awaited
    assert ends is not None
    assert is_claimed(story.record, ends.deadline_at + GIVE_UP_MS)
    assert not is_claimed(story.record, ends.deadline_at + GIVE_UP_MS + CLAIM_GRACE_MS)


def test_nobody_waits_longer_for_a_word_than_for_an_attempt() -> None:
    story = Story()
    left: list[int] = []
    story.answer = lambda delivery: left.append(delivery.deadline_at - story.now) or story.runs(delivery)  # type: ignore[func-returns-value]
    story.goes_on(70)
    assert left == [5_000]


def test_an_end_at_the_deadline_of_which_nobody_told_counts() -> None:
    story = Story()
    story.answer = story.silent
    story.goes_on(LASTS_S - 60)
    story.answer = lambda _: story.told(State.SUCCEEDED, answer=b"1")
    story.goes_on(120)
    assert story.attempts == [State.SUCCEEDED]


@pytest.mark.parametrize("answer", [Story.runs, Story.silent])
def test_what_does_not_stop_ends_its_attempt_a_quarter_of_an_hour_behind_its_deadline(answer: Any) -> None:
    story = Story()
    story.answer = lambda delivery: answer(story, delivery)
    story.goes_on(LASTS_S + GIVE_UP_MS / 1000 - 30)
    assert story.attempts == []
    asked = len(story.clockwork.targets.errands)
    assert asked < 20
    story.goes_on(60)
    assert story.attempts[0] is State.TIMED_OUT
    assert "did not say that it has ended" in str(story.record.attempts[0].error)


def test_a_cancel_stops_it_at_once_and_it_ends_cancelled_by_its_event() -> None:
    story = Story()
    story.cancel()
    story.goes_on(1)
    assert [one.errand for one in story.clockwork.targets.errands] == [Errand.STOP]
    assert story.record.state is State.RUNNING
    assert story.tell(story.event("ABORTED", error="Clockwork.Stopped")) == (1, 0, [])
    story.goes_on(1)
    assert (story.record.state, story.attempts) == (State.CANCELLED, [State.FAILED])
    story.goes_on(LASTS_S)
    assert len(story.clockwork.targets.delivered) == 1


def test_a_cancel_that_comes_too_late_leaves_the_success() -> None:
    story = Story()
    story.cancel()
    story.answer = lambda _: story.told(State.SUCCEEDED, answer=b"1")
    story.goes_on(1)
    assert story.record.state is State.SUCCEEDED


def test_a_cancel_whose_stop_gets_no_answer_is_repeated_until_it_is_given_up() -> None:
    story = Story()
    story.answer = story.silent
    story.cancel()
    story.goes_on(GIVE_UP_MS / 1000 - 10)
    assert story.record.state is State.RUNNING
    assert 4 < len(story.clockwork.targets.errands) < 14, "by two watches: its own, and that of the cancel"
    story.goes_on(20)
    assert (story.record.state, story.attempts) == (State.CANCELLED, [State.CANCELLED])


def test_a_cancel_before_the_answer_to_the_start_stops_what_began() -> None:
    story = Story(before_answer=lambda one: one.cancel())
    story.goes_on(15)
    assert [one.errand for one in story.clockwork.targets.errands] == [Errand.STOP]


def test_what_the_service_does_not_know_is_lost_once_it_would_know_it() -> None:
    story = Story()
    story.answer = lambda _: story.told(State.WORKER_LOST, error="it does not exist")
    story.goes_on(50)
    assert story.attempts == []
    story.goes_on(70)
    assert story.attempts[:1] == [State.WORKER_LOST]


def test_what_the_service_does_not_know_yet_is_not_lost() -> None:
    story = Story()
    story.answer = lambda _: story.told(State.WORKER_LOST, error="it does not exist")
    story.cancel()
    story.goes_on(3)
    assert [one.errand for one in story.clockwork.targets.errands] == [Errand.STOP]
    assert (story.record.state, story.attempts) == (State.RUNNING, [])
    story.goes_on(120)
    assert (story.record.state, story.attempts) == (State.CANCELLED, [State.WORKER_LOST])


def test_a_copy_that_comes_after_all_of_its_time_asks_before_it_ends_anything() -> None:
    story = Story()
    occurrence = story.record.kept.occurrence
    assert occurrence is not None
    first = Deliver(Of(story.job_id), occurrence, story.due_at)
    for message_id in list(story.clockwork.queue.messages):
        story.clockwork.queue.delete(message_id)
    story.goes_on(LASTS_S + GIVE_UP_MS / 1000 + 60)
    assert story.clockwork.targets.errands == []
    story.answer = lambda _: story.told(State.SUCCEEDED, answer=b"1")
    story.clockwork.queue.put(encode_message([first]))
    story.goes_on(60)
    assert story.attempts == [State.SUCCEEDED]


def test_a_redrive_begins_an_execution_of_another_name() -> None:
    story = Story(retry_policy=RetryPolicy(max_attempts=1))
    story.tell(story.event("FAILED", error="no"))
    story.goes_on(2)
    assert story.record.state is State.DEAD
    redrive(story.clockwork.world, story.record)
    story.goes_on(5)
    assert (story.record.state, story.name(1)) == (State.RUNNING, f"{story.name(0)}-1")


def test_a_copy_of_the_first_message_becomes_a_watch_and_ends_nothing_behind_the_deadline() -> None:
    story = Story()
    occurrence = story.record.kept.occurrence
    assert occurrence is not None
    first = Deliver(Of(story.job_id), occurrence, story.due_at)
    story.goes_on(LASTS_S + 30)
    story.clockwork.queue.put(encode_message([first]))
    story.goes_on(5)
    assert (story.record.state, story.attempts) == (State.RUNNING, [])
    story.answer = lambda _: story.told(State.SUCCEEDED, answer=b"1")
    story.goes_on(60)
    assert story.attempts == [State.SUCCEEDED]


def test_a_reader_that_dies_behind_its_record_of_a_failure_leaves_the_rest_to_the_event_that_comes_back() -> None:
    story = Story()
    send = story.clockwork.queue.send
    story.clockwork.queue.send = lambda releases, now, aligned=None: [Refused(0, False, "no")]  # type: ignore[method-assign]
    assert story.tell(story.event("FAILED", error="no")) == (0, 0, ["0"])
    story.clockwork.queue.send = send  # type: ignore[method-assign]
    assert story.record.state is State.RUNNING
    assert story.tell(story.event("FAILED", error="no")) == (1, 0, [])
    story.goes_on(2)
    assert story.attempts == [State.FAILED]


def test_a_store_without_an_answer_lets_one_event_come_back_and_no_other() -> None:
    story = Story()
    find = story.clockwork.executions.find
    asked: list[str] = []

    def fails_once(job_id: str, execution_id: str) -> Any:
        asked.append(job_id)
        if len(asked) == 1:
            raise Unavailable("the table gives no answer")
        return find(job_id, execution_id)

    story.clockwork.executions.find = fails_once  # type: ignore[method-assign]
    assert story.tell(story.event(), story.event()) == (1, 0, ["0"])


def test_a_watch_that_asks_holds_up_no_other_item_of_its_batch() -> None:
    story = Story()
    order: list[str] = []
    story.answer = lambda _: order.append("asked") or story.told(State.RUNNING)  # type: ignore[func-returns-value]
    story.before_answer = lambda _: order.append("delivered")
    world = story.clockwork.world
    create_jobs(world, request(new_job(delay_ms=60_000 - 2_000)), ensure_shards(world))
    story.goes_on(70)
    assert order == ["delivered", "asked"]


def test_a_watch_that_nobody_can_judge_holds_up_no_other_item_of_its_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    story = Story()

    def odd(*_: object) -> bool:
        raise ValueError("a fault of this one watch")

    world = story.clockwork.world
    (beside,) = create_jobs(world, request(new_job(delay_ms=60_000 - 2_000)), ensure_shards(world))
    with monkeypatch.context() as patched:
        patched.setattr(claim, "asks", odd)
        story.goes_on(70)
    assert [one.job_id for one in story.clockwork.targets.delivered][1:] == [beside.job_id]
    assert story.record.state is State.RUNNING
    assert not story.clockwork.targets.errands
    story.goes_on(8 * 60)
    assert story.clockwork.targets.errands, "the watch came back"
