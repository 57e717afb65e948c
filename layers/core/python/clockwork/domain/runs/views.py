"""Views of a run for readers: how many of its nodes have ended how, and where each of them stands."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from clockwork.domain.executions import Execution, State
from clockwork.domain.lifecycle.redrives import names_of
from clockwork.domain.runs.nodes import NOT_STARTED, SKIPPED, UNREACHED, Records, ref_of
from clockwork.domain.workflows.definition import When
from clockwork.domain.workflows.graph import because, counted, is_unreached, step_of
from clockwork.domain.workflows.progress import Sets

#: The states of a node without a record that has no mark: a parent has not ended, or it was released.
WAITING, RELEASED = "WAITING", "RELEASED"
#: The states of nodes, in the order in which they come.
STATES = (WAITING, RELEASED, *(str(state) for state in State), UNREACHED)


class RunView(msgspec.Struct, frozen=True):
    """How many nodes a run has, by how they count for it. `stopped`: why no further node starts."""

    generation: int
    nodes: int
    succeeded: int
    failed: int
    skipped: int
    open: int
    stopped: str | None = None


class NodeView(msgspec.Struct, frozen=True, kw_only=True):
    """A node of a run. `record`: None before it was claimed, and if it never is. `because`: the parent that decided."""

    name: str
    after: Sequence[str]
    when: When
    state: str
    generation: int
    execution_id: str | None = None
    because: str | None = None
    record: Execution | None = None


def run_view(run: Execution, sets: Sets) -> RunView:
    """The run by its sets. An optional node that failed counts as skipped, one that was not reached as failed."""
    graph = sets.nodes
    count = list(counted(graph, sets.outcomes()).values())
    stopped = None
    if sets.is_stopped:
        stopped = "cancel" if run.cancel_noted_at is not None else "timeout"
    return RunView(
        generation=sets.generation,
        nodes=graph.size,
        succeeded=count.count("ok"),
        failed=count.count("bad"),
        skipped=count.count("off"),
        open=graph.size - len(count),
        stopped=stopped,
    )


def node_views(run: Execution, sets: Sets, records: Records) -> list[NodeView]:
    """All nodes of a run that has begun, in the order of its definition. `records` has those of nodes that may run."""
    names, graph = names_of(run), sets.nodes
    marks = sets.outcomes()
    count, ready = counted(graph, marks), step_of(graph, marks, None).ready
    views = []
    for index, name in enumerate(names):
        record = records.get(index)
        state = _state_of(sets, index, record, is_ready=index in ready)
        cause = because(graph, count, index) if marks.get(index) == "off" else None
        views.append(
            NodeView(
                name=name,
                after=[names[parent] for parent in graph.parents[index]],
                when=graph.when[index],
                state=state,
                generation=sets.generations[index],
                execution_id=None if record is None else ref_of(run, sets, index)[1],
                because=None if cause is None else names[cause],
                record=record,
            )
        )
    return views


def _state_of(sets: Sets, index: int, record: Execution | None, *, is_ready: bool) -> str:
    marks = sets.outcomes()
    mark = marks.get(index)
    if mark == "off":
        return UNREACHED if is_unreached(sets.nodes, counted(sets.nodes, marks), index) else SKIPPED
    if record is not None:
        return str(record.state)
    if mark is not None:
        return str(State.SUCCEEDED) if mark == "ok" else NOT_STARTED
    return RELEASED if is_ready else WAITING
