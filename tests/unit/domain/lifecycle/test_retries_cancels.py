"""Retry policies, and cancels that tell truly whether an execution may still start."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clockwork.domain.executions import State
from clockwork.domain.keys import BEGINNING, edge_key, row_key
from clockwork.domain.lifecycle.cancels import Verdict, cancel_record, plan_cancel, plan_unrecorded_cancel
from clockwork.domain.lifecycle.retries import backoff_seconds, plan_retry
from clockwork.domain.policies import RetryPolicy
from tests.support.examples import NOW, execution, failure, like, occurrence

CANCELLED = cancel_record("j", "e", "acme", NOW, NOW + 9, NOW, None)


@pytest.mark.parametrize(
    ("policy", "waits"),
    [
        (RetryPolicy(jitter="none"), [5, 10, 20, 40]),
        (RetryPolicy(jitter="none", max_seconds=15), [5, 10, 15, 15]),
        (RetryPolicy(jitter="none", backoff="linear"), [5, 10, 15, 20]),
        (RetryPolicy(jitter="none", backoff="fixed"), [5, 5, 5, 5]),
        (RetryPolicy(backoff="none"), [0, 0, 0, 0]),
        (RetryPolicy(), [2.5, 5, 10, 20]),
    ],
)
def test_backoff_grows_as_the_policy_says(policy: RetryPolicy, waits: list[float]) -> None:
    assert [backoff_seconds(policy, failures, 0.5) for failures in (1, 2, 3, 4)] == waits


@given(st.integers(1, 100), st.floats(0, 1, exclude_max=True))
def test_a_wait_is_never_negative_nor_beyond_the_longest(failures: int, jitter: float) -> None:
    assert 0 <= backoff_seconds(RetryPolicy(), failures, jitter) <= 3_600


def plan(
    attempt: int = 1, lost: int = 0, policy: RetryPolicy | None = None, window: float | None = None, **outcome: Any
) -> int | None:
    steady = policy or RetryPolicy(jitter="none", max_attempts=3)
    failed = occurrence(retry_policy=steady, relevancy_window_seconds=window)
    return plan_retry(failed, attempt, lost, failure(**outcome), NOW, 0.0).retry_at


@pytest.mark.parametrize(
    ("retry_at", "expected"),
    [
        (plan(1), NOW + 5_000),
        (plan(2), NOW + 10_000),
        (plan(3), None),
        (plan(3, lost=1), NOW + 10_000),
        (plan(6, lost=3), None),
        (plan(6, lost=4), None),
        (plan(1, permanent=True), None),
        (plan(1, retry_after_seconds=60.0), NOW + 60_000),
        (plan(1, retry_after_seconds=1.0), NOW + 5_000),
        (plan(1, policy=RetryPolicy(jitter="none", max_age_seconds=4)), None),
        (plan(1, policy=RetryPolicy(jitter="none", max_age_seconds=5)), NOW + 5_000),
        (plan(1, window=4), None),
        (plan(1, window=5), NOW + 5_000),
        (plan(1, lost=1, state=State.WORKER_LOST), NOW),
    ],
)
def test_a_retry_is_planned_or_not(retry_at: int | None, expected: int | None) -> None:
    assert retry_at == expected


def test_cancel_before_any_claim_makes_the_record_that_refuses_claims() -> None:
    planned = plan_cancel(None, CANCELLED)
    assert planned.verdict is Verdict.CANCELLED
    assert planned.execution is not None
    assert planned.execution.state is State.CANCELLED


def test_cancel_notes_itself_on_a_running_attempt_just_once() -> None:
    planned = plan_cancel(execution(State.RUNNING, attempt=2), CANCELLED)
    assert planned.verdict is Verdict.RUNNING
    assert planned.execution is not None
    assert planned.execution.state is State.RUNNING
    again = plan_cancel(planned.execution, CANCELLED)
    assert (again.verdict, again.execution) == (Verdict.RUNNING, None)


@pytest.mark.parametrize("state", [State.PENDING, State.FAILED, State.TIMED_OUT, State.WORKER_LOST])
def test_cancel_replaces_a_record_that_waits(state: State) -> None:
    planned = plan_cancel(execution(state, attempt=1, next_attempt_at=NOW), CANCELLED)
    assert planned.verdict is Verdict.CANCELLED
    assert planned.execution is not None
    assert (planned.execution.state, planned.execution.revision) == (State.CANCELLED, 2)


@pytest.mark.parametrize("state", [State.PENDING, State.RUNNING, State.FAILED])
def test_a_cancel_of_what_was_tried_without_claims_counts_and_promises_nothing(state: State) -> None:
    recorded = execution(state, attempt=4)
    planned, honest = (plan_cancel(stored, CANCELLED) for stored in (recorded, like(recorded, unclaimed=True)))
    assert planned.verdict is not Verdict.TOO_LATE
    assert honest.verdict is Verdict.TOO_LATE
    assert planned.execution is not None
    assert honest.execution == like(planned.execution, unclaimed=True)
    assert "level none" in honest.reason


@pytest.mark.parametrize(
    ("state", "verdict"),
    [
        (State.SUCCEEDED, Verdict.TOO_LATE),
        (State.DEAD, Verdict.TOO_LATE),
        (State.EXPIRED, Verdict.TOO_LATE),
        (State.SKIPPED, Verdict.TOO_LATE),
        (State.CANCELLED, Verdict.CANCELLED),
    ],
)
def test_cancel_changes_nothing_that_has_ended(state: State, verdict: Verdict) -> None:
    planned = plan_cancel(execution(state), CANCELLED)
    assert (planned.verdict, planned.execution) == (verdict, None)


def test_without_a_record_only_the_horizon_proves_that_nobody_had_it() -> None:
    key = row_key(NOW, "x")
    assert plan_unrecorded_cancel(BEGINNING, key).verdict is Verdict.CANCELLED
    assert plan_unrecorded_cancel(edge_key(NOW - 1), key).verdict is Verdict.CANCELLED
    assert plan_unrecorded_cancel(edge_key(NOW), key).verdict is Verdict.TOO_LATE
