"""Attempts: the deliverer's decision on a release for every recorded state of its execution, as a table."""

from __future__ import annotations

import msgspec
import pytest

from clockwork.domain.executions import ATTEMPTS_KEPT, EXCERPTS_KEPT, FINAL, WAITING, State
from clockwork.domain.lifecycle.attempts import (
    Action,
    Claim,
    plan_claim,
    plan_death,
    plan_outcome,
    plan_unclaimed_outcome,
)
from clockwork.domain.lifecycle.awaiting import CLAIM_GRACE_MS, is_claimed
from clockwork.domain.policies import RetryPolicy
from clockwork.domain.releases import Deliver, delay_seconds
from clockwork.domain.storage.codec import encode
from clockwork.domain.waits import Waited
from clockwork.targets.message import Payload
from tests.support.examples import NOW, execution, failure, like, occurrence, release, success

CLAIM = Claim("me", NOW + 20_000, NOW, NOW + 99)


def test_the_first_claim_makes_the_record() -> None:
    plan = plan_claim(release(), None, CLAIM)
    assert plan.action is Action.START
    assert plan.execution is not None
    assert plan.execution.state is State.RUNNING
    assert (plan.execution.attempt, plan.execution.claimant, plan.execution.revision) == (1, "me", 1)


@pytest.mark.parametrize("state", sorted(FINAL))
def test_a_final_record_absorbs_every_message(state: State) -> None:
    plan = plan_claim(release(), execution(state), CLAIM)
    assert (plan.action, plan.execution, plan.release) == (Action.ABSORB, None, None)


def test_a_live_claim_defers_the_message_and_until_it_has_ended_at_most() -> None:
    running = execution(State.RUNNING, attempt=1, claimant="other", claim_until=NOW + 7_000)
    for meets, after_ms in enumerate((2_000, 3_000, 4_500, 6_750, 10_125, 7_000 + CLAIM_GRACE_MS)):
        plan = plan_claim(release(meets=meets), running, CLAIM)
        assert plan.action is Action.DEFER
        assert isinstance(plan.release, Deliver)
        assert plan.release.run_at == NOW + after_ms
        assert (plan.release.attempt, plan.release.waits.meets) == (1, meets + 1)
    assert plan_claim(release(meets=10**6), running, CLAIM).release is not None


def test_who_meets_a_claim_that_ends_soon_comes_back_for_its_slot_and_not_before() -> None:
    """The end of the claim may be sooner than the slot that the attempt took under a rate cap."""
    running = execution(State.RUNNING, attempt=1, claimant="c", started_at=NOW, claim_until=NOW - CLAIM_GRACE_MS + 100)
    met = plan_claim(release(run_at=NOW + 1_900, paced=True), running, CLAIM)
    assert (met.action, met.release and met.release.run_at) == (Action.DEFER, NOW + 1_900)


@pytest.mark.parametrize("resends", [True, False])
def test_who_meets_a_claim_that_ends_within_a_second_does_not_come_back_at_once(resends: bool) -> None:
    """A queue would delay the rest of that second by nothing, and the copy would go round until the claim has ended."""
    running = execution(State.RUNNING, attempt=1, claimant="c", started_at=NOW, claim_until=NOW - CLAIM_GRACE_MS + 100)
    met = plan_claim(release(), running, msgspec.structs.replace(CLAIM, resends=resends))
    assert met.release is not None
    assert delay_seconds(met.release.run_at, NOW) == 1


def test_a_live_claim_defers_what_keeps_its_place_until_it_has_ended() -> None:
    running = execution(State.RUNNING, attempt=1, claimant="other", claim_until=NOW + 7_000)
    deferred = plan_claim(release(), running, msgspec.structs.replace(CLAIM, resends=False)).release
    assert deferred is not None
    assert deferred.run_at == NOW + 7_000 + CLAIM_GRACE_MS


@pytest.mark.parametrize(("late_ms", "live"), [(0, True), (CLAIM_GRACE_MS - 1, True), (CLAIM_GRACE_MS, False)])
def test_a_claim_ends_a_grace_after_its_deadline(late_ms: int, live: bool) -> None:
    assert is_claimed(execution(State.RUNNING, claim_until=NOW), NOW + late_ms) is live


def test_a_lost_worker_is_recorded_and_its_successor_released_at_once() -> None:
    running = execution(State.RUNNING, attempt=1, claimant="other", claim_until=NOW - 60_000, started_at=NOW - 80_000)
    plan = plan_claim(release(), running, CLAIM)
    assert plan.action is Action.FOLLOW_UP
    assert plan.execution is not None
    assert isinstance(plan.release, Deliver)
    assert plan.execution.state is State.WORKER_LOST
    assert plan.execution.budget.lost_workers == 1
    assert plan.execution.attempts[0].state is State.WORKER_LOST
    assert (plan.release.attempt, plan.release.run_at) == (2, NOW)


def test_three_lost_workers_are_forgiven_and_attempts_still_end() -> None:
    stored, message, rounds = execution(State.RUNNING, attempt=1, claim_until=0, started_at=NOW), release(), 0
    while True:
        plan = plan_claim(message, stored, CLAIM)
        rounds += 1
        if plan.action is Action.FINISH:
            break
        assert plan.execution is not None
        assert isinstance(plan.release, Deliver)
        message = plan.release
        claimed = plan_claim(message, plan.execution, CLAIM).execution
        assert claimed is not None
        stored = like(claimed, claim_until=0)
    assert plan.execution is not None
    assert plan.execution.state is State.DEAD
    assert rounds == 3 + occurrence().retry_policy.max_attempts


@pytest.mark.parametrize("state", sorted(WAITING))
def test_only_the_retry_itself_claims_a_waiting_record(state: State) -> None:
    waiting = execution(state, attempt=1, next_attempt_at=NOW + 3_000, revision=2)
    stray = plan_claim(release(attempt=1), waiting, CLAIM)
    assert stray.action is Action.FOLLOW_UP
    assert stray.execution is None
    assert stray.release is not None
    assert (stray.release.attempt, stray.release.run_at) == (2, NOW + 3_000)
    sooner = plan_claim(release(attempt=2, run_at=NOW + 2_999), waiting, CLAIM)
    assert (sooner.action, sooner.release) == (Action.FOLLOW_UP, stray.release)
    ours = plan_claim(release(attempt=2, run_at=NOW + 3_000), waiting, CLAIM)
    assert ours.action is Action.START
    assert ours.execution is not None
    assert (ours.execution.attempt, ours.execution.revision, ours.execution.waits.next_attempt_at) == (2, 3, None)


def test_success_ends_it() -> None:
    running = execution(State.RUNNING, attempt=1, claimant="me", claim_until=NOW, cancel_noted_at=NOW)
    plan = plan_outcome(release(run_at=NOW + 30), running, success(NOW + 40), NOW + 50, 0.5)
    assert plan.action is Action.FINISH
    assert plan.execution is not None
    assert plan.execution.state is State.SUCCEEDED
    assert plan.execution.claimant is None
    assert plan.execution.attempts[-1].lateness_ms == 40
    assert plan.release is None


def test_failure_records_the_retry_before_releasing_it() -> None:
    plan = plan_outcome(release(permits=9), execution(State.RUNNING, attempt=1), failure(), NOW + 10, 0.5)
    assert plan.action is Action.FOLLOW_UP
    assert plan.execution is not None
    assert isinstance(plan.release, Deliver)
    assert plan.execution.state is State.FAILED
    assert plan.execution.waits.next_attempt_at == plan.release.run_at == NOW + 10 + 5_000
    assert (plan.release.attempt, plan.release.waits.permits) == (2, 0)


def test_the_last_failure_is_dead_with_the_occurrence_whole() -> None:
    plan = plan_outcome(release(attempt=3), execution(State.RUNNING, attempt=3), failure(), NOW, 0.5)
    assert plan.execution is not None
    assert plan.execution.state is State.DEAD
    assert plan.execution.kept.occurrence == occurrence()
    assert "3 of 3" in (plan.execution.reason or "")


def test_a_cancel_noted_while_running_makes_the_failure_final() -> None:
    running = execution(State.RUNNING, attempt=1, cancel_noted_at=NOW)
    plan = plan_outcome(release(), running, failure(), NOW, 0.5)
    assert plan.action is Action.FINISH
    assert plan.execution is not None
    assert plan.execution.state is State.CANCELLED


def test_a_first_success_at_level_none_leaves_no_record() -> None:
    done = plan_unclaimed_outcome(release(occurrence=occurrence(record="none")), success(), NOW, 0.5, NOW)
    assert (done.action, done.execution, done.release) == (Action.FINISH, None, None)


def test_a_first_failure_at_level_none_is_recorded_and_its_retry_claims_the_record() -> None:
    message = release(occurrence=occurrence(record="none"), parkings=2, waited=Waited(cap=5))
    assert not message.is_recorded
    plan = plan_unclaimed_outcome(message, failure(), NOW + 10, 0.5, NOW + 99)
    assert plan.action is Action.FOLLOW_UP
    assert plan.execution is not None
    assert isinstance(plan.release, Deliver)
    failed = plan.execution
    assert (failed.state, failed.revision, failed.attempt, failed.budget.unclaimed) == (State.FAILED, 1, 1, True)
    assert (failed.waits.waited, failed.parking.number, failed.expires_at) == (Waited(cap=5), 2, NOW + 99)
    assert [(a.number, a.error) for a in failed.attempts] == [(1, failure().error)]
    assert plan.release.is_recorded
    assert (plan.release.attempt, plan.release.run_at, plan.release.waits.waited) == (
        2,
        failed.waits.next_attempt_at,
        None,
    )
    later = msgspec.structs.replace(CLAIM, now=plan.release.run_at)
    claimed = plan_claim(plan.release, failed, later)
    assert claimed.action is Action.START
    assert claimed.execution is not None
    assert (claimed.execution.attempt, claimed.execution.budget.unclaimed) == (2, True)


def test_a_permanent_first_failure_at_level_none_is_dead_with_all_that_a_redrive_needs() -> None:
    message = release(occurrence=occurrence(record="none"))
    dead = plan_unclaimed_outcome(message, failure(permanent=True), NOW, 0.5, NOW + 99).execution
    assert dead is not None
    assert (dead.state, dead.attempt, dead.budget.unclaimed) == (State.DEAD, 1, True)
    assert (dead.kept.occurrence, dead.end.dead_shard) == (message.occurrence, message.shard)


def test_a_retry_at_level_none_whose_failure_was_not_recorded_makes_the_record() -> None:
    retry = release(occurrence=occurrence(record="none"), attempt=2)
    claimed = plan_claim(retry, None, CLAIM)
    assert claimed.action is Action.START
    assert claimed.execution is not None
    made = claimed.execution
    assert (made.state, made.attempt, made.attempts, made.budget.unclaimed) == (State.RUNNING, 2, (), True)


def test_only_the_last_attempts_keep_their_excerpts() -> None:
    stored = execution(State.RUNNING, attempt=1)
    for attempt in range(1, 6):
        running = msgspec.structs.replace(stored, state=State.RUNNING, attempt=attempt)
        message = release(
            attempt=attempt,
            occurrence=occurrence(retry_policy=msgspec.structs.replace(occurrence().retry_policy, max_attempts=100)),
        )
        plan = plan_outcome(message, running, failure(excerpt="body"), NOW, 0.0)
        assert plan.execution is not None
        stored = plan.execution
    assert [a.response_excerpt for a in stored.attempts] == [None, None, *["body"] * EXCERPTS_KEPT]


def test_a_record_keeps_the_last_attempts_and_counts_all() -> None:
    patient = occurrence(retry_policy=RetryPolicy(max_attempts=10**6, max_age_seconds=10**9))
    made = ATTEMPTS_KEPT + 20
    before = tuple(failure(excerpt="body").as_attempt(number) for number in range(1, made))
    message = release(occurrence=patient, attempt=made)
    running = execution(State.RUNNING, attempt=made, attempts=before)
    waiting = plan_outcome(message, running, failure(), NOW, 0.0).execution
    assert waiting is not None
    assert len(plan_death(message, running, "why", NOW, NOW).attempts) == ATTEMPTS_KEPT
    assert [attempt.number for attempt in waiting.attempts] == [*range(made - ATTEMPTS_KEPT + 1, made + 1)]


def test_the_record_of_what_was_redriven_often_fits_into_a_row_of_the_table() -> None:
    message = release(occurrence=occurrence(payload=Payload(b"x" * 256 * 1024)))
    stored, wordy = execution(State.RUNNING, attempt=1), failure(error="e" * 400, excerpt="b" * 1_024, permanent=True)
    for attempt in range(1, 600):
        running = like(stored, state=State.RUNNING, attempt=attempt, occurrence=None)
        dead = plan_outcome(msgspec.structs.replace(message, attempt=attempt), running, wordy, NOW, 0.0).execution
        assert dead is not None
        stored = dead
    assert (stored.state, stored.attempt, stored.attempts[-1].number) == (State.DEAD, 599, 599)
    assert len(encode(stored)) < 350_000


def test_giving_up_keeps_what_was_recorded() -> None:
    waiting = execution(State.FAILED, attempt=1, attempts=(), next_attempt_at=NOW, revision=4)
    dead = plan_death(release(), waiting, "why", NOW, NOW)
    assert (dead.state, dead.revision, dead.reason, dead.waits.next_attempt_at) == (State.DEAD, 5, "why", None)
    assert plan_death(release(), None, "why", NOW, NOW).revision == 1
