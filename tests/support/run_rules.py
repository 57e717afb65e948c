"""The rules W1, W4, W6, W8 and W9 of one run, told by its sets and records: for the simulator and for the random walk.

The conditions of nodes never hold here: a conditional node that would run is decided against.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from clockwork.domain.executions import Execution, State
from clockwork.domain.ids import NodeJob
from clockwork.domain.runs.beginning import is_run
from clockwork.domain.workflows.graph import Mark, counted, decide, order_of
from clockwork.domain.workflows.progress import Sets

#: The record of a node by its index, in the generation that the sets tell.
RecordOf = Callable[[int], Execution | None]


def why_not_to_start(sets: Sets | None, run: Execution | None, node: NodeJob, record_of: RecordOf) -> str | None:
    """The rule that the start of a node breaks, and how; None if it breaks none."""
    if sets is None or run is None:
        return "W1: a node starts before its run"
    if not is_run(run) or run.attempt != sets.generation:
        return f"W4: a node starts in a run that is {run.state}"
    if sets.generations[node.index] != node.generation:
        return "W8: a node starts under an old generation"
    graph, marks = sets.nodes, sets.outcomes()
    for parent in graph.parents[node.index]:
        if parent not in marks:
            return "W1: a node starts before its parent has ended"
        fault = why_not_marked(marks[parent], record_of(parent), is_stopped=False)
        if fault is not None:
            return f"W1: of a parent {fault}"
    is_to_run = decide(graph, counted(graph, marks), node.index) == "run" and not graph.conditional[node.index]
    return None if is_to_run else "W1: a node starts against its rule"


def why_not_marked(mark: Mark, record: Execution | None, *, is_stopped: bool) -> str | None:
    """Whether a mark says something else than its record. Once its run is stopped, a node without one never runs."""
    if record is None:
        is_right = mark == "off" or (mark == "bad" and is_stopped)
    else:
        is_right = record.is_final and mark == ("ok" if record.state is State.SUCCEEDED else "bad")
    return None if is_right else f"the mark is {mark}, the record {record and record.state}"


def why_not_opened(before: Sets, after: Sets, named: Collection[int]) -> str | None:
    """Whether a generation is of other nodes than those that did not succeed, are named, or come after such a one."""
    marks, again = before.outcomes(), set(named)
    for index in order_of(before.nodes):
        if marks.get(index, "bad") == "bad" or again.intersection(before.nodes.parents[index]):
            again.add(index)
    opened = {index for index, generation in enumerate(after.generations) if generation == after.generation}
    return None if opened == again else f"W8: a redrive starts {sorted(opened)}, and should start {sorted(again)}"


def why_not_ended(sets: Sets, run: Execution, *, is_whole: bool) -> str | None:
    """Whether the end of a run is no function of the outcomes of its nodes.

    `is_whole`: before this generation was stopped, if it was, all of its nodes had ended.
    """
    graph, marks = sets.nodes, sets.outcomes()
    if len(marks) != graph.size:
        return f"W6: it is {run.state}, and has marks of {sorted(marks)} alone"
    if sets.is_stopped:
        may_succeed = "bad" not in (counted(graph, marks) if is_whole else marks).values()
        return None if may_succeed or run.state is not State.SUCCEEDED else "W6: it was stopped, and yet SUCCEEDED"
    want: dict[int, Mark] = {}
    for index in order_of(graph):
        runs = decide(graph, counted(graph, want), index) == "run" and not graph.conditional[index]
        want[index] = marks[index] if runs and marks[index] != "off" else "off"
    if want != marks:
        return f"W6: its marks are {marks}, by the rules {want}"
    has_failed = "bad" in counted(graph, marks).values()
    return f"W6: it is {run.state} with {marks}" if (run.state is State.SUCCEEDED) == has_failed else None


def why_not_at_rest(records: Collection[Execution], starts: Callable[[str, int], bool], now: int) -> str | None:
    """Whether an attempt of a node has started under a claim that still holds. `starts`: of executionId and number."""
    for one in records:
        is_claimed = one.state is State.RUNNING and one.claim is not None and (one.claim.until or 0) > now
        if is_claimed and starts(one.execution_id, one.attempt):
            return f"W4: the run has ended, and attempt {one.attempt} of {one.execution_id} is at work"
    return None


def why_not_kept(sets: Sets, records: Collection[Execution], run: Execution) -> str | None:
    """Whether the sets of a run that has ended, or the record of a node that succeeded, go before its own record."""
    if sets.expires_at < run.expires_at:
        return "W9: its sets expire before its record"
    short = [one.execution_id for one in records if one.state is State.SUCCEEDED and one.expires_at < run.expires_at]
    return f"W9: results go before the record of their run: {short}" if short else None
