"""The record of a run: who may begin it, when its watch comes, and who may end it."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from clockwork.domain.executions import DAY_MS, Execution, State
from clockwork.domain.ids import run_of
from clockwork.domain.lifecycle.transitions import refused
from clockwork.domain.releases import Watch
from clockwork.domain.runs.beginning import (
    CANCELLED,
    is_run,
    plan_begin,
    releases_again,
    sets_of,
    watch_at,
    watch_of_run,
)
from clockwork.domain.runs.endings import plan_ending, plan_lost
from clockwork.domain.runs.nodes import release_node
from clockwork.domain.workflows.definition import WorkflowTarget
from clockwork.domain.workflows.progress import Marks
from clockwork.targets.message import Payload
from tests.support.examples import NOW, execution, like, occurrence, release
from tests.support.flowing import node

MINUTE = 60_000
TARGET = WorkflowTarget({"a": node(), "b": node("a")}, 7_200)
RELEASE = release(occurrence=occurrence(target=TARGET, payload=Payload(b'"x"')))
CLAIMED = execution(State.RUNNING, claimant="me", attempt=1, claim_until=NOW + 30_000, started_at=NOW)


def begun() -> Execution:
    after = plan_begin(RELEASE, CLAIMED, CLAIMED, NOW + 5).execution
    assert after is not None
    return after


def test_the_claim_becomes_that_of_the_run_until_its_deadline() -> None:
    run = begun()
    assert is_run(run)
    assert not is_run(CLAIMED)
    assert run.claim is not None
    assert (run.claim.until, run.claim.claimant) == (NOW + 7_200_000, "me")
    assert run.kept.occurrence == RELEASE.occurrence
    assert refused(CLAIMED, run) is None
    # A copy of the message goes on with it.
    assert plan_begin(RELEASE, CLAIMED, run, NOW + 9).execution is None
    assert not plan_begin(RELEASE, CLAIMED, run, NOW + 9).is_lost


@pytest.mark.parametrize(
    "changes",
    [{"claimant": "another"}, {"claimant": None, "state": State.FAILED}, {"attempt": 2}, {"state": State.DEAD}],
)
def test_a_run_is_begun_under_ones_own_claim_alone(changes: dict[str, Any]) -> None:
    stored = like(CLAIMED, **{"claimant": None, **changes} if changes.get("state") else changes)
    assert plan_begin(RELEASE, CLAIMED, stored, NOW).is_lost
    assert plan_begin(RELEASE, CLAIMED, None, NOW).is_lost


def test_a_run_with_a_noted_cancel_does_not_begin() -> None:
    plan = plan_begin(RELEASE, CLAIMED, like(CLAIMED, cancel_noted_at=NOW), NOW + 1)
    assert plan.execution is not None
    assert (plan.execution.state, plan.execution.reason) == (State.CANCELLED, CANCELLED)


@pytest.mark.parametrize(
    ("age", "next_age"), [(0, 1), (1, 2), (3, 4), (7, 8), (8, 15), (15, 30), (44, 45), (100, 105), (119, 120)]
)
def test_the_watch_of_a_run_comes_ever_less_often(age: int, next_age: int) -> None:
    watch = watch_of_run(begun(), NOW + age * MINUTE)
    assert watch.run_at == NOW + next_age * MINUTE
    # It carries neither nodes nor input.
    assert (watch.occurrence.target, watch.occurrence.payload.body) == (WorkflowTarget(), b"")
    # Clocks differ: it comes once more, a little behind the deadline.
    assert watch_of_run(begun(), NOW + 120 * MINUTE - 500).run_at == NOW + 120 * MINUTE
    assert watch_of_run(begun(), NOW + 120 * MINUTE + 500).run_at == NOW + 120 * MINUTE + 4_000
    assert watch_of_run(begun(), NOW + 130 * MINUTE).run_at == NOW + 132 * MINUTE


def test_nodes_are_released_again_each_time_that_the_age_has_doubled() -> None:
    run = begun()
    assert run.claim is not None
    watches = [watch_at(run, NOW + quarter * 15 * MINUTE) for quarter in range(1, 40)]
    ages = [(watch.run_at - NOW) // MINUTE for watch in watches if releases_again(run, watch)]
    assert ages == [60, 120, 240, 480]
    assert all(isinstance(watch, Watch) for watch in watches)


def test_only_the_attempt_that_the_sets_are_of_ends() -> None:
    run = begun()
    sets = sets_of(run, 0)
    assert (sets.run_id, sets.generation) == (run_of(run.execution_id), 1)
    done = msgspec.structs.replace(sets, marks=Marks(ok=sets.numbers([0, 1])))
    ended = plan_ending(run, done, NOW + 10).execution
    assert ended is not None
    assert ended.state is State.SUCCEEDED
    assert refused(run, ended) is None
    later = msgspec.structs.replace(run, attempt=2)
    for stored in (later, ended, CLAIMED, None):
        assert plan_ending(stored, done, NOW + 10).execution is None
    assert plan_lost(run, NOW).execution is not None
    assert plan_lost(ended, NOW).execution is None


def test_no_node_is_released_for_before_its_run_is_due() -> None:
    """The run began by a clock that was ahead: whoever goes on with it may be at an earlier instant."""
    run = begun()
    sets = sets_of(run, DAY_MS)
    for early, late in ((run.due_at - 400, run.due_at), (run.due_at + 400, run.due_at + 400)):
        assert release_node(run, sets, 0, Payload(b"null"), early, 7).run_at == late
