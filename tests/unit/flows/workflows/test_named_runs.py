"""Runs of named jobs: what overlap, changes and deletes of the job do to a run that is under way."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from clockwork.domain.executions import State
from clockwork.domain.ids import decode_node, is_node
from clockwork.domain.named.changes import cancelled, paused
from clockwork.domain.workflows.definition import WorkflowTarget
from tests.support.examples import ACME, TARGET
from tests.support.flowing import QUEUE, node
from tests.support.named import Named
from tests.unit.flows.workflows.test_runs import asked

SLOW = WorkflowTarget({"a": node(), "b": asked("a"), "c": node("b")})


def named(**definition: Any) -> Named:
    made = Named(target=SLOW, every_ms=60_000, **definition)
    made.clockwork.clients.put(msgspec.structs.replace(ACME, allowed_queue_arns=(QUEUE.queue_arn,)))
    return made


def nodes_of(made: Named) -> dict[str, State]:
    """The states of the nodes of all runs, by run and name."""
    found = {}
    for one in made.clockwork.executions.all():
        if is_node(one.job_id):
            found[f"{(one.due_at - made.start) // 60_000}{'abc'[decode_node(one.job_id).index]}"] = one.state
    return found


def test_each_fire_of_a_job_is_a_run() -> None:
    made = named(max_fires=2)
    made.run(130)
    assert nodes_of(made) == {"1a": State.SUCCEEDED, "1b": State.RUNNING, "2a": State.SUCCEEDED, "2b": State.RUNNING}
    assert [one.state for one in made.executions()] == [State.RUNNING] * 2


def test_a_run_is_under_way_until_it_ends_for_a_job_that_skips() -> None:
    made = named(overlap="skip", max_fires=3)
    made.run(200)
    assert [one.state for one in made.executions()] == [State.SKIPPED, State.SKIPPED, State.RUNNING]
    assert nodes_of(made) == {"1a": State.SUCCEEDED, "1b": State.RUNNING}


def test_a_delete_cancels_its_runs_and_lists_what_runs() -> None:
    made = named(max_fires=1)
    made.run(70)
    written = made.change(cancelled(None))
    assert written.under_way is not None
    running = [one for one in written.under_way.running if is_node(one.job_id)]
    assert [decode_node(one.job_id).index for one in running] == [1]
    assert len(written.under_way.running) == 2
    made.run(120)
    assert [one.state for one in made.executions()] == [State.CANCELLED]
    assert nodes_of(made) == {"1a": State.SUCCEEDED, "1b": State.CANCELLED}


def test_a_run_keeps_the_definition_with_which_it_began() -> None:
    made = named(max_fires=2)
    made.run(70)
    other = WorkflowTarget({"x": node()})

    def changed(before: Any, _: int, __: Any) -> Any:
        definition = msgspec.structs.replace(before.definition, target=other)
        return msgspec.structs.replace(before, definition=definition, revision=before.revision + 1)

    made.change(changed)
    made.run(60)
    states = {one.due_at: one.state for one in made.executions()}
    assert list(states.values()) == [State.SUCCEEDED, State.RUNNING]
    assert nodes_of(made) == {"1a": State.SUCCEEDED, "1b": State.RUNNING, "2a": State.SUCCEEDED}


def test_a_job_that_becomes_a_workflow_runs_its_nodes_at_its_next_fire() -> None:
    plain = Named(target=TARGET, every_ms=60_000, max_fires=2)
    plain.run(70)

    def changed(before: Any, _: int, __: Any) -> Any:
        definition = msgspec.structs.replace(before.definition, target=WorkflowTarget({"a": node(), "b": node("a")}))
        return msgspec.structs.replace(before, definition=definition, revision=before.revision + 1)

    plain.change(changed)
    plain.run(70)
    assert [one.state for one in plain.executions()] == [State.SUCCEEDED] * 2
    assert nodes_of(plain) == {"2a": State.SUCCEEDED, "2b": State.SUCCEEDED}


@pytest.mark.parametrize("cancels", [True, False])
def test_a_pause_leaves_a_run_alone_unless_it_cancels_what_waits(*, cancels: bool) -> None:
    made = named(max_fires=1)
    made.run(70)
    written = made.change(paused("a pause", cancels=cancels))
    assert written.under_way is not None
    listed = [one for one in written.under_way.running if is_node(one.job_id)]
    made.run(120)
    (record,) = made.executions()
    assert (len(listed), record.state) == ((1, State.CANCELLED) if cancels else (0, State.RUNNING))
    if not cancels:
        assert nodes_of(made) == {"1a": State.SUCCEEDED, "1b": State.RUNNING}
