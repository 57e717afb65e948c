"""The deliverer starts a released occurrence on time, delivers it once in effect, and records how it ended."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec
import pytest

from clockwork.domain import ids
from clockwork.domain.executions import Execution, Outcome, State
from clockwork.domain.policies import RetryPolicy
from clockwork.domain.releases import Delivery
from clockwork.domain.storage.codec import encode_message
from clockwork.domain.timeline import Row
from clockwork.flows.deliver.batch import LONGEST_HOLD_MS
from clockwork.flows.deliver.deliver import RECORD_MARGIN_MS, deliver_batch
from clockwork.flows.deliver.inbox import Message
from clockwork.flows.requests.create import create_jobs
from clockwork.flows.timeline.shards import ensure_shards
from clockwork.memory.world import MemoryClockwork
from clockwork.ports import Saved
from clockwork.targets.http import HttpTarget
from clockwork.targets.registry import Target
from clockwork.targets.sqs import SqsTarget
from clockwork.targets.target import SERVICE_SECONDS
from tests.support.examples import ACME, NOW, failure, new_job, occurrence, release, request, success

PATIENT = RetryPolicy(max_attempts=3, initial_seconds=2_000, max_seconds=86_400, jitter="none", max_age_seconds=200_000)


def failing(times: int, clockwork: list[MemoryClockwork]) -> Callable[[Delivery], Outcome]:
    def answer(delivery: Delivery) -> Outcome:
        now = clockwork[0].clock.now()
        if delivery.attempt <= times:
            return failure(started_at=now, ended_at=now)
        return success(now)

    return answer


def clockwork_failing(times: int) -> MemoryClockwork:
    box: list[MemoryClockwork] = []
    box.append(MemoryClockwork(answer=failing(times, box)))
    return box[0]


def run(clockwork: MemoryClockwork, seconds: int, **job: object) -> Execution | None:
    jobs = create_jobs(clockwork.world, request(new_job(**job)), ensure_shards(clockwork.world))
    clockwork.run_until(clockwork.clock.at + seconds * 1000)
    return clockwork.executions.find(jobs[0].job_id, ids.only_execution(jobs[0].job_id, jobs[0].due_at))


def test_a_job_is_delivered_at_its_instant_and_recorded() -> None:
    clockwork = MemoryClockwork()
    record = run(clockwork, 30, delay_ms=10_250)
    assert record is not None
    assert record.state is State.SUCCEEDED
    assert record.attempts[0].lateness_ms == 0
    assert not clockwork.queue.messages


def test_record_level_none_leaves_no_trace_of_a_success() -> None:
    clockwork = MemoryClockwork()
    assert run(clockwork, 30, record="none") is None
    assert len(clockwork.targets.delivered) == 1
    assert not clockwork.executions.all()


@pytest.mark.parametrize("record", ["full", "none"])
def test_a_delivery_is_no_duplicate_that_was_absorbed(record: str) -> None:
    clockwork = MemoryClockwork()
    message = release(occurrence=occurrence(record=record), run_at=clockwork.clock.at)
    clockwork.queue.send([message], clockwork.clock.at)
    report = clockwork.deliver_visible()
    assert (report.succeeded, report.absorbed) == (1, 0)
    assert not clockwork.queue.messages


@pytest.mark.parametrize("record", ["full", "none"])
def test_two_failures_and_then_success_is_three_attempts(record: str) -> None:
    clockwork = clockwork_failing(2)
    run(clockwork, 120, record=record, retry_policy=RetryPolicy(jitter="none"))
    assert [d.attempt for d in clockwork.targets.delivered] == [1, 2, 3]
    assert not clockwork.queue.messages


@pytest.mark.parametrize("record", ["full", "none"])
def test_a_target_that_never_accepts_ends_dead_with_the_reason_of_each_attempt(record: str) -> None:
    clockwork = clockwork_failing(99)
    dead = run(clockwork, 200, record=record, retry_policy=RetryPolicy(max_attempts=3, jitter="none"))
    assert dead is not None
    assert dead.state is State.DEAD
    assert [a.error for a in dead.attempts] == ["HTTP 500"] * 3
    assert dead.kept.occurrence is not None


def test_a_retry_beyond_the_queues_delay_travels_through_the_timeline() -> None:
    clockwork = clockwork_failing(1)
    record = run(clockwork, 2_200, retry_policy=PATIENT)
    assert record is not None
    assert record.state is State.SUCCEEDED
    assert record.attempts[1].started_at - record.attempts[0].ended_at == 2_000_000


def test_a_duplicate_message_is_absorbed() -> None:
    clockwork = MemoryClockwork()
    message = release(run_at=clockwork.clock.at)
    clockwork.queue.send([message, message], clockwork.clock.at)
    first = clockwork.deliver_visible()
    assert (first.succeeded, len(clockwork.targets.delivered)) == (1, 1)
    clockwork.run_until(clockwork.clock.at + 60_000)
    assert len(clockwork.targets.delivered) == 1
    assert not clockwork.queue.messages


def test_a_message_far_too_early_goes_back_with_the_rest_of_its_delay() -> None:
    clockwork = MemoryClockwork()
    clockwork.queue.send([release(run_at=clockwork.clock.at + 5_000_000)], clockwork.clock.at)
    hops = 0
    while not clockwork.targets.delivered:
        visible_at = clockwork.queue.next_visible_at()
        assert visible_at is not None
        clockwork.clock.at = max(clockwork.clock.at, visible_at)
        clockwork.deliver_visible()
        hops += 1
    assert hops == 6
    assert clockwork.clock.at == release().run_at + 5_000_000


def test_what_cannot_end_in_time_is_not_started() -> None:
    clockwork = MemoryClockwork()
    clockwork.queue.send([release(run_at=clockwork.clock.at)], clockwork.clock.at)
    (message,) = clockwork.queue.receive()
    report = deliver_batch(clockwork.world, [Message("m", message.body)], clockwork.clock.at + 10_000)
    assert (report.deferred, report.succeeded) == (1, 0)
    assert not clockwork.targets.delivered
    assert len(clockwork.queue.messages) == 2


def test_one_bad_message_fails_alone() -> None:
    clockwork = MemoryClockwork()
    clockwork.queue.put("nonsense")
    clockwork.queue.send([release(run_at=clockwork.clock.at)], clockwork.clock.at)
    report = clockwork.deliver_visible()
    assert report.succeeded == 1
    assert len(report.failed_messages) == 1
    assert [m.body for m in clockwork.queue.messages.values()] == ["nonsense"]


def test_a_lost_deliverer_is_followed_by_the_next_attempt() -> None:
    clockwork = MemoryClockwork()
    clockwork.queue.send([release(run_at=clockwork.clock.at)], clockwork.clock.at)

    def die(delivery: Delivery) -> Outcome:
        raise KeyboardInterrupt

    clockwork.targets._answer = die
    with pytest.raises(KeyboardInterrupt):
        clockwork.deliver_visible()
    clockwork.targets._answer = lambda _: success(clockwork.clock.now())
    clockwork.targets.collect()
    clockwork.run_until(clockwork.clock.at + 120_000)
    (record,) = clockwork.executions.all()
    assert record.state is State.SUCCEEDED
    assert [a.state for a in record.attempts] == [State.WORKER_LOST, State.SUCCEEDED]
    assert not clockwork.queue.messages


def test_an_outcome_that_cannot_be_recorded_brings_the_message_back(monkeypatch: pytest.MonkeyPatch) -> None:
    clockwork = MemoryClockwork()
    clockwork.queue.send([release(run_at=clockwork.clock.at)], clockwork.clock.at)
    save, calls = clockwork.executions.save, []

    def fail_second(changes: Sequence[tuple[Execution | None, Execution]]) -> Sequence[Saved]:
        calls.append(1)
        return [Saved(ok=False, unavailable="no answer")] if len(calls) == 2 else save(changes)

    monkeypatch.setattr(clockwork.executions, "save", fail_second)
    assert len(clockwork.deliver_visible().failed_messages) == 1
    assert len(clockwork.queue.messages) == 1


def test_a_far_retry_that_cannot_be_kept_brings_the_message_back(monkeypatch: pytest.MonkeyPatch) -> None:
    from clockwork.domain.errors import Unavailable

    clockwork = clockwork_failing(1)
    job = create_jobs(
        clockwork.world, request(new_job(delay_ms=0, retry_policy=PATIENT)), ensure_shards(clockwork.world)
    )[0]
    clockwork.poll_all()

    def fail(rows: Sequence[Row]) -> None:
        raise Unavailable("throttled")

    with monkeypatch.context() as broken:
        broken.setattr(clockwork.timeline, "put_new", fail)
        assert len(clockwork.deliver_visible().failed_messages) == 1
    clockwork.run_until(clockwork.clock.at + 2_200_000)
    record = clockwork.executions.find(job.job_id, ids.only_execution(job.job_id, job.due_at))
    assert record is not None
    assert record.state is State.SUCCEEDED


def test_a_record_that_nobody_answers_for_fails_its_message_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    from clockwork.domain.errors import Unavailable

    clockwork = MemoryClockwork()
    late = release(run_at=clockwork.clock.at, attempt=2)
    other = release(run_at=clockwork.clock.at, occurrence=occurrence(due_at=NOW + 1))
    clockwork.queue.send([late, other], clockwork.clock.at)

    def fail(job_id: str, execution_id: str) -> Execution | None:
        raise Unavailable("throttled")

    monkeypatch.setattr(clockwork.executions, "find", fail)
    report = clockwork.deliver_visible()
    assert (report.succeeded, len(report.failed_messages)) == (1, 1)


def test_jobs_that_nobody_answers_for_fail_their_messages_and_start_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    from clockwork.domain.errors import Unavailable
    from clockwork.domain.ids import NamedJobId

    clockwork = MemoryClockwork()
    named = release(run_at=clockwork.clock.at, job_id=NamedJobId("acme", "k", 1).job_id, partition_id="p000")
    anonymous = release(run_at=clockwork.clock.at - 1)
    clockwork.queue.send([anonymous, named], clockwork.clock.at)

    def fail(places: Sequence[tuple[str, str]]) -> Sequence[None]:
        raise Unavailable("throttled")

    monkeypatch.setattr(clockwork.jobs, "get", fail)
    report = clockwork.deliver_visible()
    assert report.failed_messages
    assert named.job_id not in {delivery.job_id for delivery in clockwork.targets.delivered}
    assert clockwork.targets.collect() == []


def test_what_an_invocation_that_failed_left_under_way_is_nothing_of_the_next_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clockwork = clockwork_failing(1)
    now = clockwork.clock.at
    hold_until, holds = clockwork.clock.hold_until, []

    def hold_once(at: int) -> None:
        holds.append(at)
        if len(holds) == 2:
            raise RuntimeError("a defect")
        hold_until(at)

    monkeypatch.setattr(clockwork.clock, "hold_until", hold_once)
    clockwork.queue.send([release(run_at=now), release(run_at=now + 500, run="later")], now)
    with pytest.raises(RuntimeError):
        clockwork.deliver_visible()
    clockwork.queue.send([release(run_at=now, run="other", attempt=2)], now)
    report = clockwork.deliver_visible()
    assert (report.succeeded, report.failed, len(clockwork.targets.delivered)) == (1, 0, 2)


@pytest.mark.parametrize(("missing_ms", "attempts"), [(0, 1), (1, 0)])
def test_an_attempt_begins_only_if_it_can_end_and_be_recorded_in_time(missing_ms: int, attempts: int) -> None:
    clockwork = MemoryClockwork()
    now = clockwork.clock.at = NOW + 1
    needed_ms = 15_000 + RECORD_MARGIN_MS
    body = encode_message([release()])
    report = deliver_batch(clockwork.world, [Message("m", body)], now + needed_ms - missing_ms)
    assert (len(clockwork.targets.delivered), report.deferred) == (attempts, 1 - attempts)


@pytest.mark.parametrize(("ahead_ms", "held"), [(LONGEST_HOLD_MS - 1, True), (LONGEST_HOLD_MS, False)])
def test_an_environment_holds_an_occurrence_no_longer_than_two_seconds(ahead_ms: int, held: bool) -> None:
    clockwork = MemoryClockwork()
    now = clockwork.clock.at
    early = release(run_at=now + ahead_ms)
    deliver_batch(clockwork.world, [Message("m", encode_message([early]))], now + 100_000)
    assert (len(clockwork.targets.delivered), len(clockwork.queue.messages)) == ((1, 0) if held else (0, 1))


@pytest.mark.parametrize(
    ("target", "needs_ms"),
    [
        (HttpTarget("https://example.com/", timeout_seconds=2), 2_000),
        (HttpTarget("https://example.com/", timeout_seconds=2.5), 2_500),
        (SqsTarget("arn:aws:sqs:us-east-1:123456789012:orders"), int(SERVICE_SECONDS * 1000)),
    ],
    ids=["http", "with fractions", "sqs"],
)
@pytest.mark.parametrize(("spare_ms", "started"), [(0, True), (-1, False)])
def test_no_attempt_is_started_whose_outcome_may_come_too_late_to_be_recorded(
    target: Target, needs_ms: int, spare_ms: int, started: bool
) -> None:
    clockwork = MemoryClockwork()
    now = clockwork.clock.at
    clockwork.clients.put(
        msgspec.structs.replace(ACME, allowed_queue_arns=("arn:aws:sqs:us-east-1:123456789012:orders",))
    )
    deadline_at = now + needs_ms + RECORD_MARGIN_MS + spare_ms
    deliver_batch(
        clockwork.world, [Message("m", encode_message([release(occurrence=occurrence(target=target))]))], deadline_at
    )
    assert len(clockwork.targets.delivered) == started
    assert len(clockwork.queue.messages) == (not started)
