"""The ends of nodes: the outcome is added to the sets of the run, which goes on from the answer.

The record of a node ends first. A process that finds it final does the rest again. It decides by nothing but the answer
of its own addition.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from clockwork.domain.errors import Unavailable, Undecodable
from clockwork.domain.executions import Execution
from clockwork.domain.ids import NodeJob, decode_execution, decode_node
from clockwork.domain.runs.beginning import is_run, watch_at
from clockwork.domain.runs.nodes import mark_of, marks_of
from clockwork.domain.workflows.progress import Sets, number_of
from clockwork.flows.containment import contained
from clockwork.flows.timeline.retries import send_retries
from clockwork.flows.workflows.advance import Advance, add
from clockwork.flows.world import World

Ended = tuple[NodeJob, Execution]


def add_ends(world: World, ended: Sequence[Execution], *, buries: bool = True) -> dict[int, str]:
    """Add the outcomes of nodes that have ended, and go on with their runs.

    Ends of one run share an addition. Returns by index why what follows may not come: the caller may repeat.
    """
    faults: dict[int, str] = {}
    for run_id, some in _by_run(world, ended, faults).items():
        with contained(world.environment.faults, partial(_fail, faults, list(some)), run_id):
            _add(world, run_id, list(some.values()), buries)
    return faults


def nudge(world: World, ended: Sequence[Execution]) -> None:
    """Send the watch of each run to which these nodes belong, for now: it notes their ends and goes on.

    This is for a process that has no message which would come back. Raises Unavailable.
    """
    runs = _by_run(world, ended, {})
    found = world.runs.get(list(runs))
    records = [_run_of(world, sets) for sets in found if isinstance(sets, Sets)]
    watches = [watch_at(run, world.clock.now()) for run in records if run is not None]
    for why_not in send_retries(world, watches).values():
        raise Unavailable(why_not)


def _by_run(world: World, ended: Sequence[Execution], faults: dict[int, str]) -> dict[str, dict[int, Ended]]:
    """The ends by run. One whose jobId is that of no node is among the faults."""
    runs: dict[str, dict[int, Ended]] = {}
    for index, record in enumerate(ended):
        with contained(world.environment.faults, partial(_fail, faults, [index]), record.execution_id):
            node = decode_node(record.job_id)
            runs.setdefault(node.run_id, {})[index] = (node, record)
    return runs


def _fail(faults: dict[int, str], indexes: Sequence[int], why_not: str) -> None:
    faults |= dict.fromkeys(indexes, why_not)


def _add(world: World, run_id: str, some: Sequence[Ended], buries: bool) -> None:
    marks = marks_of({number_of(node.generation, node.index): mark_of(record) for node, record in some})
    try:
        sets = add(world, run_id, marks)
    except Undecodable:
        return  # The store has told it, and the watch of the run ends it.
    if sets is None:
        return
    after = [node.index for node, _ in some if sets.is_current(number_of(node.generation, node.index))]
    Advance(world, sets, buries=buries).go(after)


def _run_of(world: World, sets: Sets) -> Execution | None:
    run = world.executions.find(decode_execution(sets.execution_id).job_id, sets.execution_id)
    return run if is_run(run) else None
