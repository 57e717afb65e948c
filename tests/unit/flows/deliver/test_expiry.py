"""The relevancy window: an occurrence that is too late ends EXPIRED wherever it waited, and is never delivered."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from clockwork.domain import ids
from clockwork.domain.executions import DAY_MS, Execution, Outcome, State
from clockwork.domain.lifecycle.attempts import Action, Claim, plan_claim, plan_outcome, plan_unclaimed_outcome
from clockwork.domain.lifecycle.expiry import is_expired
from clockwork.domain.policies import RetryPolicy
from clockwork.domain.releases import Delivery
from clockwork.domain.waits import Waiting
from clockwork.flows.deliver.batch import Batch
from clockwork.flows.deliver.inform import unexpired
from clockwork.flows.deliver.items import Item
from clockwork.flows.deliver.waiting import Resent
from clockwork.flows.requests.create import CreatedJob, create_jobs
from clockwork.flows.timeline.shards import ensure_shards
from clockwork.memory.world import MemoryClockwork
from tests.support.examples import ACME, NOW, execution, failure, new_job, occurrence, release, request

CLAIM = Claim("c", NOW + 20_000, NOW + 10_001, NOW + 30 * DAY_MS)
#: Due at NOW, with a relevancy window of ten seconds.
SHORT = occurrence(relevancy_window_seconds=10)
LEVELS = pytest.mark.parametrize("record", ["full", "none"])


def create(clockwork: MemoryClockwork, **job: Any) -> CreatedJob:
    return create_jobs(clockwork.world, request(new_job(**job)), ensure_shards(clockwork.world))[0]


def record_of(clockwork: MemoryClockwork, job: CreatedJob) -> Execution:
    found = clockwork.executions.find(job.job_id, ids.only_execution(job.job_id, job.due_at))
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("changes", "at", "expired"),
    [
        ({}, NOW + 10_000, False),
        ({}, NOW + 10_001, True),
        ({"relevancy_window_seconds": None}, NOW + 10**12, False),
        # A job created after its due instant, like a backfilled fire, counts from when it could first run.
        ({"created_at": NOW + 60_000}, NOW + 70_000, False),
        ({"created_at": NOW + 60_000}, NOW + 70_001, True),
    ],
)
def test_the_window_counts_from_when_it_could_first_run(changes: dict[str, Any], at: int, expired: bool) -> None:
    assert is_expired(msgspec.structs.replace(SHORT, **changes), at) is expired


@pytest.mark.parametrize(
    "stored",
    [
        None,
        execution(State.FAILED, attempt=1, next_attempt_at=NOW),
        execution(State.PENDING),
        execution(State.PARKED),
    ],
)
def test_a_claim_that_comes_too_late_ends_expired(stored: Execution | None) -> None:
    attempt = 1 if stored is None else stored.attempt + 1
    plan = plan_claim(release(occurrence=SHORT, attempt=attempt), stored, CLAIM)
    assert plan.action is Action.FINISH
    assert plan.execution is not None
    assert (plan.execution.state, plan.execution.waits.next_attempt_at) == (State.EXPIRED, None)
    assert "relevancyWindowSeconds 10" in (plan.execution.reason or "")


def test_a_claim_that_is_live_or_over_is_stronger_than_the_window() -> None:
    late = release(occurrence=SHORT)
    running = execution(State.RUNNING, attempt=1, claimant="x", claim_until=NOW + 30_000)
    assert plan_claim(late, running, CLAIM).action is Action.DEFER
    assert plan_claim(late, execution(State.SUCCEEDED), CLAIM).action is Action.ABSORB


def test_a_lost_worker_is_not_followed_up_beyond_the_window() -> None:
    lost = execution(State.RUNNING, attempt=1, claimant="x", claim_until=NOW)
    plan = plan_claim(release(occurrence=SHORT), lost, CLAIM)
    assert plan.execution is not None
    assert plan.execution.state is State.EXPIRED
    assert [attempt.state for attempt in plan.execution.attempts] == [State.WORKER_LOST]
    assert plan.release is None


def test_a_slot_beyond_the_window_is_too_late_at_once() -> None:
    plan = plan_claim(release(occurrence=SHORT, run_at=NOW + 10_001), None, msgspec.structs.replace(CLAIM, now=NOW))
    assert plan.execution is not None
    assert plan.execution.state is State.EXPIRED


def test_a_retry_that_would_start_beyond_the_window_ends_expired_instead_of_waiting() -> None:
    running = execution(State.RUNNING, attempt=1, claimant="c", claim_until=NOW + 20_000)
    plan = plan_outcome(release(occurrence=SHORT), running, failure(), NOW + 6_000, 0.0)
    assert plan.execution is not None
    assert (plan.execution.state, plan.execution.kept.occurrence, plan.release) == (State.EXPIRED, None, None)
    unrecorded = plan_unclaimed_outcome(release(occurrence=SHORT), failure(), NOW + 6_000, 0.0, NOW + DAY_MS)
    assert unrecorded.execution is not None
    assert (unrecorded.execution.state, len(unrecorded.execution.attempts)) == (State.EXPIRED, 1)


@LEVELS
def test_a_poller_that_comes_too_late_releases_nothing_and_records_it(record: str) -> None:
    clockwork = MemoryClockwork()
    job = create(clockwork, record=record, relevancy_window_seconds=60)
    clockwork.clock.at += 10_000 + 60_001
    reports = clockwork.poll_all()
    assert sum(report.expired for report in reports) == 1
    assert sum(report.released for report in reports) == 0
    assert record_of(clockwork, job).state is State.EXPIRED
    assert not clockwork.queue.messages


def test_what_a_poller_reads_late_although_it_has_a_record_is_decided_by_its_claim() -> None:
    clockwork = MemoryClockwork()
    job = create(clockwork, relevancy_window_seconds=60)
    waiting = execution(
        State.PENDING, job_id=job.job_id, execution_id=ids.only_execution(job.job_id, job.due_at), due_at=job.due_at
    )
    clockwork.executions.save([(None, waiting)])
    clockwork.clock.at += 10_000 + 60_001
    assert sum(report.released for report in clockwork.poll_all()) == 1
    assert clockwork.deliver_visible().expired == 1
    assert record_of(clockwork, job).state is State.EXPIRED
    assert not clockwork.targets.delivered


@LEVELS
def test_a_message_that_is_received_too_late_is_not_delivered(record: str) -> None:
    clockwork = MemoryClockwork()
    job = create(clockwork, record=record, relevancy_window_seconds=60)
    clockwork.poll_all()
    clockwork.clock.at += 10_000 + 60_001
    report = clockwork.deliver_visible()
    assert (report.expired, report.succeeded, report.failed_messages) == (1, 0, [])
    assert record_of(clockwork, job).state is State.EXPIRED
    assert not clockwork.targets.delivered
    assert not clockwork.queue.messages


@LEVELS
def test_time_that_passes_between_claim_and_start_is_noticed(record: str, monkeypatch: pytest.MonkeyPatch) -> None:
    clockwork = MemoryClockwork()
    job = create(clockwork, record=record, relevancy_window_seconds=60)
    clockwork.poll_all()
    clockwork.clock.at += 10_000
    monkeypatch.setattr(clockwork.clock, "hold_until", lambda at: setattr(clockwork.clock, "at", at + 60_001))
    assert clockwork.deliver_visible().expired == 1
    assert record_of(clockwork, job).state is State.EXPIRED
    assert not clockwork.targets.delivered


@LEVELS
def test_what_is_delivered_within_its_window_is_as_ever(record: str) -> None:
    clockwork = MemoryClockwork()
    create(clockwork, record=record, relevancy_window_seconds=1)
    clockwork.run_until(clockwork.clock.at + 30_000)
    assert len(clockwork.targets.delivered) == 1
    assert not [one for one in clockwork.executions.all() if one.state is State.EXPIRED]


@LEVELS
def test_retries_end_with_the_window(record: str) -> None:
    clockwork = MemoryClockwork()

    def fail(_: Delivery) -> Outcome:
        return failure(started_at=clockwork.clock.at, ended_at=clockwork.clock.at)

    clockwork.targets._answer = fail
    policy = RetryPolicy(max_attempts=100, backoff="fixed", initial_seconds=10, jitter="none")
    job = create(clockwork, record=record, retry_policy=policy, relevancy_window_seconds=35)
    clockwork.run_until(clockwork.clock.at + 600_000)
    assert [delivery.attempt for delivery in clockwork.targets.delivered] == [1, 2, 3, 4]
    assert record_of(clockwork, job).state is State.EXPIRED
    assert not clockwork.queue.messages


@pytest.mark.parametrize(
    ("policy", "answer", "state"),
    [
        (RetryPolicy(), Outcome(State.SUCCEEDED, NOW, NOW), State.SUCCEEDED),
        (RetryPolicy(max_attempts=1), failure(), State.DEAD),
        (RetryPolicy(max_attempts=2, initial_seconds=20, jitter="none"), failure(), State.EXPIRED),
    ],
)
@LEVELS
def test_the_record_of_what_ended_is_kept_as_long_as_its_client_wants(
    policy: RetryPolicy, answer: Outcome, state: State, record: str
) -> None:
    clockwork = MemoryClockwork(answer=lambda _: answer)
    wanted = msgspec.structs.replace(ACME, retention_days=40)
    job = new_job(retry_policy=policy, relevancy_window_seconds=15, record=record)
    asked = msgspec.structs.replace(request(job), client=wanted)
    (created,) = create_jobs(clockwork.world, asked, ensure_shards(clockwork.world))
    clockwork.run_until(clockwork.clock.at + 60_000)
    if state is State.SUCCEEDED and record == "none":
        assert not clockwork.executions.all()
        return
    ended = record_of(clockwork, created)
    assert (ended.state, ended.expires_at) == (state, created.due_at + 40 * DAY_MS)


def test_what_has_not_ended_is_kept_whatever_its_client_wants() -> None:
    clockwork = MemoryClockwork(answer=lambda _: failure())
    day = msgspec.structs.replace(ACME, retention_days=1)
    patient = RetryPolicy(initial_seconds=86_400, max_seconds=86_400, max_age_seconds=1_209_600, jitter="none")
    asked = msgspec.structs.replace(request(new_job(retry_policy=patient)), client=day)
    (created,) = create_jobs(clockwork.world, asked, ensure_shards(clockwork.world))
    clockwork.run_until(clockwork.clock.at + 60_000)
    waiting = record_of(clockwork, created)
    assert (waiting.state, waiting.expires_at) == (State.FAILED, created.due_at + 30 * DAY_MS)


@LEVELS
def test_what_may_start_after_all_since_the_clock_was_set_back_is_not_acknowledged(
    record: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    clockwork = MemoryClockwork()
    batch = Batch(clockwork.world, NOW + 60_000, Resent(clockwork.world))
    item = Item("m", release(occurrence=msgspec.structs.replace(SHORT, record=record)))
    instants = iter([NOW + 10_001])
    monkeypatch.setattr(clockwork.clock, "now", lambda: next(instants, NOW + 9_999))
    assert unexpired(batch, [item]) == []
    assert batch.report.failed_messages == ["m"]


@pytest.mark.parametrize("state", [State.PARKED, State.PENDING])
def test_a_record_that_a_failure_left_at_level_none_ends_with_the_retry_that_comes_too_late(state: State) -> None:
    clockwork = MemoryClockwork()
    short = msgspec.structs.replace(SHORT, record="none", due_at=clockwork.clock.at)
    late = release(occurrence=short, run_at=clockwork.clock.at, attempt=2, parkings=1)
    waiting = late.first_record(state, clockwork.clock.at + DAY_MS, revision=3, attempt=1)
    clockwork.executions.save([(None, waiting)])
    clockwork.clock.advance(60_000)
    clockwork.queue.send([late], clockwork.clock.at)
    assert clockwork.deliver_visible().expired == 1
    (stored,) = clockwork.executions.all()
    assert (stored.state, stored.revision) == (State.EXPIRED, 4)
    assert not clockwork.queue.messages


def test_a_first_attempt_at_level_none_that_comes_too_late_leaves_the_record_to_the_retry() -> None:
    clockwork = MemoryClockwork()
    short = msgspec.structs.replace(SHORT, record="none", due_at=clockwork.clock.at)
    first = release(occurrence=short, run_at=clockwork.clock.at)
    failed = first.first_record(State.FAILED, clockwork.clock.at + DAY_MS, attempt=1, waits=Waiting(first.run_at))
    clockwork.executions.save([(None, failed)])
    clockwork.clock.advance(60_000)
    clockwork.queue.send([first], clockwork.clock.at)
    assert clockwork.deliver_visible().absorbed == 1
    (stored,) = clockwork.executions.all()
    assert (stored.state, stored.revision) == (State.FAILED, 1)
    assert not clockwork.queue.messages
