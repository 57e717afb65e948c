"""Read a run and its nodes for a caller that may see the run."""

from __future__ import annotations

import logging

import msgspec

from clockwork.domain.errors import Undecodable, Unreadable, readable
from clockwork.domain.executions import Execution
from clockwork.domain.ids import decode_execution, decode_node, is_node, run_of
from clockwork.domain.lifecycle.redrives import names_of
from clockwork.domain.runs.views import NodeView, RunView, node_views, run_view
from clockwork.domain.workflows.progress import Sets
from clockwork.flows.outages import tolerated
from clockwork.flows.workflows.nodes import records_of
from clockwork.flows.world import World

log = logging.getLogger(__name__)


class NodePlace(msgspec.Struct, frozen=True):
    """The node that an execution is: its name, the executionId of its run, and its generation."""

    name: str
    run: str
    generation: int


class Nodes(msgspec.Struct, frozen=True):
    """The nodes of a run; none for an execution that is no run, and for one that has not begun."""

    generation: int
    items: list[NodeView]


def nodes_of_run(world: World, run: Execution) -> Nodes:
    """Each node of a run with its record, by one read of the sets and one of the records. Raises Unavailable."""
    sets = _sets_of(world, run)
    if sets is None:
        return Nodes(run.attempt, [])
    marks = sets.outcomes()
    wanted = [index for index in range(sets.nodes.size) if marks.get(index) != "off"]
    return Nodes(sets.generation, node_views(run, sets, records_of(world, run, sets, wanted)))


def view_of_run(world: World, run: Execution) -> RunView | None:
    """A run in numbers; None for what is no run, or has not begun. A failed read is logged, and nothing else."""
    extra = {"action": "run_not_told", "executionId": run.execution_id}
    with tolerated(world, log, "where a run stands is not told: %s", extra, Unreadable):
        sets = _sets_of(world, run)
        return None if sets is None else run_view(run, sets)
    return None


def place_of_node(world: World, execution: Execution) -> NodePlace | None:
    """The node that an execution is, by two reads at the most; None for any other, or once its run is gone."""
    if not is_node(execution.job_id):
        return None
    node = decode_node(execution.job_id)
    if (of := execution.kept.node) is not None:
        return NodePlace(of.name, of.run, node.generation)
    extra = {"action": "run_not_told", "executionId": execution.execution_id}
    with tolerated(world, log, "the run of a node is not told: %s", extra, Unreadable):
        sets = readable(world.runs.get([node.run_id])[0])
        if sets is not None:
            run = world.executions.find(decode_execution(sets.execution_id).job_id, sets.execution_id)
            names = () if run is None else names_of(run)
            return NodePlace(names[node.index], sets.execution_id, node.generation) if names else None
    return None


def _sets_of(world: World, run: Execution) -> Sets | None:
    if not names_of(run):
        return None
    found = world.runs.get([run_of(run.execution_id)])[0]
    return None if isinstance(found, Undecodable) else readable(found)
