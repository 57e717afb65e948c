"""Retention: a record is kept for as long as a row or a message may name its execution."""

from __future__ import annotations

from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from clockwork.domain.executions import DAY_MS, FINAL, State
from clockwork.domain.storage.retention import PARKED_MS, RETRIED_MS, SPARE_MS, Retention
from tests.support.examples import NOW, execution

KEPT = Retention(records_ms=30 * DAY_MS, rows_ms=3 * DAY_MS, messages_ms=14 * DAY_MS)
NAMED_MS = 17 * DAY_MS + SPARE_MS
INSTANTS = st.none() | st.integers(NOW - 20 * DAY_MS, NOW + 20 * DAY_MS)
NOT_PARKED = [state for state in State if state is not State.PARKED]


@given(
    state=st.sampled_from(NOT_PARKED),
    before=st.none() | st.sampled_from([state for state in NOT_PARKED if state not in FINAL]),
    next_at=INSTANTS,
    claim_until=INSTANTS,
    due_at=st.integers(NOW - 20 * DAY_MS, NOW + 20 * DAY_MS),
    wished_at=st.integers(NOW, NOW + 40 * DAY_MS),
)
def test_a_record_outlives_the_last_row_and_message_that_may_name_it(
    state: State, before: State | None, next_at: int | None, claim_until: int | None, due_at: int, wished_at: int
) -> None:
    """The next attempt and the claim count where either record knows of them: an end forgets both."""
    waited: dict[str, Any] = {"next_attempt_at": next_at}
    if claim_until is not None:
        waited["claim_until"] = claim_until
    stored = None if before is None else execution(before, due_at=due_at, **waited)
    told = waited if stored is None else {}
    after = execution(state, due_at=due_at, expires_at=wished_at, **told)
    last_at = max(NOW, due_at, next_at or 0, claim_until or 0)
    assert KEPT.kept(stored, after, NOW).expires_at == max(wished_at, last_at + NAMED_MS)


def test_nothing_else_of_a_record_changes() -> None:
    after = execution(State.SUCCEEDED, reason="why", attempt=3)
    kept = KEPT.kept(None, after, NOW)
    assert msgspec.structs.replace(kept, expires_at=after.expires_at) == after


def test_what_is_parked_outlives_its_row_and_so_does_what_is_cancelled_there() -> None:
    parked = KEPT.kept(None, execution(State.PARKED, expires_at=NOW, parked_at=NOW), NOW)
    assert parked.expires_at == NOW + PARKED_MS + NAMED_MS
    cancelled = parked.changed(state=State.CANCELLED, expires_at=NOW)
    assert KEPT.kept(parked, cancelled, NOW).expires_at == parked.expires_at
    late = NOW + PARKED_MS
    assert KEPT.kept(parked, cancelled, late).expires_at == max(parked.expires_at, late + 30 * DAY_MS)


def test_what_a_duplicate_has_started_outlives_the_row_in_which_it_is_parked() -> None:
    running = execution(State.RUNNING, claimant="me", parked_at=NOW)
    dead = execution(State.DEAD, expires_at=NOW, parked_at=NOW)
    assert KEPT.kept(running, dead, NOW + 60_000).expires_at == NOW + PARKED_MS + NAMED_MS


def test_a_record_at_level_none_outlives_any_retry_of_a_copy_of_its_first_message() -> None:
    dead = KEPT.kept(None, execution(State.DEAD, expires_at=NOW, unclaimed=True), NOW)
    assert dead.expires_at == NOW + RETRIED_MS + NAMED_MS


def test_what_came_due_longer_ago_than_rows_are_kept_is_looked_at() -> None:
    assert not KEPT.is_to_be_looked_at(NOW, NOW + 3 * DAY_MS)
    assert KEPT.is_to_be_looked_at(NOW, NOW + 3 * DAY_MS + 1)


def test_a_record_is_renewed_before_it_may_go_before_a_message() -> None:
    lasts_ms = 14 * DAY_MS + SPARE_MS
    assert not KEPT.is_to_be_renewed(execution(State.FAILED, expires_at=NOW + lasts_ms), NOW)
    assert KEPT.is_to_be_renewed(execution(State.FAILED, expires_at=NOW + lasts_ms - 1), NOW)
