"""Stop a run: no node of its generation starts any more, and those that wait or run are ended.

The cancel is noted in the run's record before its sets are stopped: otherwise the run could end in between, be
redriven, and run on behind the answer. A stop names a generation, so a redrive needs not take it back.
"""

from __future__ import annotations

from collections.abc import Collection

from clockwork.domain.executions import Execution, State
from clockwork.domain.lifecycle.cancels import cancel_record, plan_cancel
from clockwork.domain.runs.nodes import mark_of, marks_of
from clockwork.domain.workflows.graph import Mark
from clockwork.domain.workflows.progress import Marks, Sets
from clockwork.flows.graces import watch_graces
from clockwork.flows.records import replace
from clockwork.flows.workflows.nodes import records_of
from clockwork.flows.world import World


def wind_down(
    world: World, run: Execution, sets: Sets, open_nodes: Collection[int], watched: set[str]
) -> tuple[Marks | None, list[Execution]]:
    """End the nodes of a stopped run that were to run and have no mark.

    Returns the marks to add (None: all of them run), and the nodes that run. A node without a record never starts,
    since it looks at the sets. A waiting one ends CANCELLED. On a running one a cancel is noted, and its grace is
    watched unless `watched` has its executionId. Raises Unavailable.
    """
    found: dict[int, Mark] = {}
    noted, met, known = list[Execution](), list[Execution](), list[Execution]()
    for index, record in records_of(world, run, sets, open_nodes).items():
        if record is None:
            found[sets.number(index)] = "bad"
            continue
        after = record if record.is_final else _cancelled(world, record)
        if after.is_final:
            found[sets.number(index)] = mark_of(after)
        elif after.execution_id in watched:
            known.append(after)
        elif after.state is State.RUNNING:
            (noted if record.cancel_noted_at is None else met).append(after)
    watch_graces(world, noted, met)
    watched |= {one.execution_id for one in (*noted, *met)}
    return marks_of(found) if found else None, [*noted, *met, *known]


def _cancelled(world: World, record: Execution) -> Execution:
    """The record of a node as it stands once a cancel is noted. Raises Unavailable."""
    now = world.clock.now()
    expires_at = max(record.expires_at, world.execution_expires_at(now))
    cancelled = cancel_record(
        record.job_id, record.execution_id, record.client_id, record.due_at, expires_at, now, record.created_at
    )
    _, after = replace(world, record, lambda stored: plan_cancel(stored, cancelled))
    assert after is not None
    return after
