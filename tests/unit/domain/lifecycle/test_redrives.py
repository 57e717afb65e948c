"""Redrives and discards as pure decisions: what waits again, as what, and what is put away."""

from __future__ import annotations

from typing import Any

import pytest

from clockwork.domain.executions import NO_END, Execution, State
from clockwork.domain.fires.hints import hint_of
from clockwork.domain.ids import ExecutionId, NamedJobId
from clockwork.domain.lifecycle.awaited import goes_on, has_ended_for, is_awaited, reopened
from clockwork.domain.lifecycle.redrives import discarded, is_redrivable, place_of, plan_redrive
from clockwork.domain.policies import Budget
from clockwork.domain.waits import Waited, Waiting
from tests.support.examples import NOW, execution, like, occurrence, release

LATER = NOW + 60_000
NAMED = NamedJobId("acme", "daily", 1).job_id


def dead(**changes: Any) -> Execution:
    return execution(State.DEAD, **{"attempt": 3, "occurrence": occurrence(), "dead_at": NOW, **changes})


def dead_of_named(**changes: Any) -> Execution:
    return dead(job_id=NAMED, execution_id=str(ExecutionId(NAMED, NOW, "0")), **changes)


def test_a_redrive_waits_again_with_a_fresh_budget_and_its_age_counts_from_now() -> None:
    stored = dead(cancel_noted_at=NOW, lost_workers=2, waited=Waited(cap=1), dead_shard="p000", revision=5)
    plan = plan_redrive(stored, "p001", LATER)
    waiting = plan.execution
    assert waiting is not None and plan.release is not None
    assert (waiting.state, waiting.revision, waiting.reason) == (State.PENDING, 6, "redriven")
    assert (waiting.budget, waiting.waits, waiting.end) == (Budget(start=3), Waiting(LATER), NO_END)
    assert waiting.cancel_noted_at is None
    assert (plan.release.attempt, plan.release.run_at, plan.release.execution_id) == (4, LATER, stored.execution_id)
    assert (plan.release.occurrence.created_at, plan.release.occurrence.record) == (LATER, "full")
    assert (plan.release.of.partition_id, plan.release.revision, plan.release.of.source) == (None, None, "job")


def test_a_redrive_of_what_was_redriven_before_and_not_claimed_has_the_same_release_again() -> None:
    first = plan_redrive(dead(), "p001", LATER)
    assert first.execution is not None
    again = plan_redrive(first.execution, "p001", LATER + 5)
    assert (again.reason, again.execution, again.release) == ("it waits already", None, first.release)


def test_a_named_job_is_redriven_by_its_definition_or_as_it_was() -> None:
    hinted = plan_redrive(dead_of_named(), "p001", LATER, 7).release
    assert hinted is not None
    assert (hinted.revision, hinted.of.source, hinted.of.partition_id) == (7, "job", "p001")
    assert hinted.occurrence.is_hint
    as_it_was = plan_redrive(dead_of_named(), "p001", LATER, 7, as_it_was=True).release
    assert as_it_was is not None
    assert (as_it_was.of.source, as_it_was.occurrence.payload) == ("record", occurrence().payload)
    anonymous = plan_redrive(dead(), "p001", LATER, as_it_was=True).release
    assert anonymous is not None
    assert anonymous.of.source == "job"


@pytest.mark.parametrize(
    ("stored", "as_it_was", "why"),
    [
        (execution(State.SUCCEEDED, occurrence=occurrence()), False, "it is SUCCEEDED"),
        (execution(State.PENDING), False, "it is PENDING"),
        (execution(State.DEAD), False, "it was discarded"),
        (dead_of_named(occurrence=hint_of(occurrence())), True, "so it has no payload"),
    ],
)
def test_what_cannot_be_redriven_says_why(stored: Execution, as_it_was: bool, why: str) -> None:
    plan = plan_redrive(stored, "p001", LATER, as_it_was=as_it_was)
    assert (plan.execution, plan.release) == (None, None)
    assert why in plan.reason
    assert not is_redrivable(stored) or as_it_was


def test_only_what_is_dead_and_not_put_away_is_redrivable() -> None:
    assert is_redrivable(dead())
    assert not is_redrivable(dead(occurrence=None))
    assert not is_redrivable(execution(State.PENDING, occurrence=occurrence()))


def test_what_is_redriven_together_keeps_its_order_by_instant_and_sequence() -> None:
    ordered = occurrence(sequence=4)
    assert place_of(dead(occurrence=ordered)) == (NOW, 4)
    assert place_of(dead(occurrence=None)) == (NOW, 0)


def test_a_discard_puts_away_what_is_dead_once() -> None:
    put_away = discarded(dead(reason="HTTP 500", raw=b"x", revision=5))
    assert put_away is not None
    assert (put_away.kept.occurrence, put_away.kept.raw, put_away.reason) == (None, None, "discarded; HTTP 500")
    assert (put_away.state, put_away.revision) == (State.DEAD, 6)
    assert discarded(put_away) is None
    assert discarded(dead(occurrence=None, raw=b"x")) is not None
    assert discarded(execution(State.PENDING, occurrence=occurrence())) is None


def test_what_is_dead_or_was_redriven_and_not_claimed_needs_attention_until_it_is_put_away() -> None:
    assert dead().needs_attention
    assert dead(occurrence=None, raw=b"x").needs_attention
    assert execution(State.PENDING, occurrence=occurrence()).needs_attention
    assert not dead(occurrence=None).needs_attention
    assert not execution(State.PENDING).needs_attention
    assert not execution(State.CANCELLED, occurrence=occurrence()).needs_attention


@pytest.mark.parametrize(
    ("state", "ended_by", "revision", "goes"),
    [
        (State.SKIPPED, 4, 4, True),
        (State.SKIPPED, 4, 5, True),
        (State.SKIPPED, 4, 3, False),
        (State.SKIPPED, None, 4, False),
        (State.SKIPPED, 4, None, False),
        (State.PENDING, 4, 4, False),
    ],
)
def test_a_record_that_a_pause_ended_is_gone_on_from_by_a_later_revision_alone(
    state: State, ended_by: int | None, revision: int | None, goes: bool
) -> None:
    stored, coming = execution(state, ended_by=ended_by), release(revision=revision)
    assert goes_on(stored, coming) is goes
    assert has_ended_for(coming, stored) is (stored.is_final and not goes)
    assert not has_ended_for(coming, None)


def test_what_goes_on_waits_again_with_a_fresh_budget() -> None:
    ended = execution(State.SKIPPED, ended_by=4, attempt=2, lost_workers=1, reason="its job is paused")
    assert reopened(ended) == like(
        ended, state=State.PENDING, ended_by=None, reason=None, budget_from=2, lost_workers=0
    )


@pytest.mark.parametrize(
    ("stored", "attempt", "awaited"),
    [
        (execution(State.FAILED, attempt=1), 2, True),
        (execution(State.FAILED, attempt=1), 1, False),
        (execution(State.FAILED, attempt=1), 3, False),
        (execution(State.PARKED, attempt=1), 2, False),
        (execution(State.RUNNING, attempt=1), 2, False),
        (execution(State.SKIPPED, attempt=1, ended_by=4), 2, True),
        (execution(State.SKIPPED, attempt=1), 2, False),
    ],
)
def test_a_record_awaits_the_release_of_its_next_attempt(stored: Execution, attempt: int, awaited: bool) -> None:
    assert is_awaited(release(attempt=attempt, revision=4), stored) is awaited
