"""W1 to W6 and W9 in the simulator: no node starts before its parents have ended, and runs end by their rules."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from clockwork.domain.executions import Execution, State
from clockwork.domain.ids import run_of
from clockwork.domain.runs.nodes import ref_of
from clockwork.domain.workflows.definition import WorkflowTarget
from clockwork.domain.workflows.graph import Mark, counted, decide, graph_of, order_of
from clockwork.domain.workflows.progress import Sets

if TYPE_CHECKING:
    from tests.simulation.stores import Stores
    from tests.simulation.watcher import Promise, Watcher


def objections(stores: Stores, watcher: Watcher) -> Iterator[tuple[str, str, str]]:
    """The rule, the words and the jobId of each fault of a workflow that was promised."""
    for promise in watcher.promises.values():
        target = promise.occurrence.target
        if not isinstance(target, WorkflowTarget):
            continue
        record = watcher.executions.find(promise.job_id, promise.execution_id)
        runs: Any = stores.port("runs")
        (sets,) = runs.get([run_of(promise.execution_id)])
        if record is not None and isinstance(sets, Sets):
            for rule, told in _faults(watcher, promise, target, record, sets):
                yield rule, told, promise.job_id


def _faults(
    watcher: Watcher, promise: Promise, target: WorkflowTarget, run: Execution, sets: Sets
) -> Iterator[tuple[str, str]]:
    graph, marks, all_marks = graph_of(target.nodes), sets.outcomes(), sets.marks
    if all_marks.ok & all_marks.bad or (all_marks.ok | all_marks.bad) & all_marks.off:
        yield "W3", f"a node has two marks: {all_marks}"
    if run.is_final and sets.expires_at < run.expires_at:
        yield "W9", "its sets expire before its record"
    if run.is_final and len(marks) < graph.size:
        yield "W6", f"it is {run.state}, and has marks of {sorted(marks)} alone"
        return
    want: dict[int, Mark] = {}
    for index in order_of(graph):
        name, (job_id, execution_id) = list(target.nodes)[index], ref_of(run, sets, index)
        record, starts = watcher.executions.find(job_id, execution_id), watcher.seen[job_id].starts
        # The conditions of drawn nodes never hold (`running.NEVER`).
        if decide(graph, counted(graph, want), index) == "off" or graph.conditional[index]:
            want[index] = "off"
            if starts:
                yield "W1", f"{name} starts against its rule"
            continue
        has_succeeded = record is not None and record.state is State.SUCCEEDED
        want[index] = "ok" if has_succeeded else "bad"
        if has_succeeded and not watcher.seen[job_id].accepted:
            yield "W2", f"{name} succeeded, and its target never accepted it"
    if run.cancel_noted_at is None and want != marks:
        yield "W6", f"its marks are {marks}, by records and rules {want}"
    # Its end was judged at its instant, too. Its sets may have been stopped behind it, by a deliverer that came late.
    has_failed = "bad" in counted(graph, want).values()
    may_fail = has_failed or (sets.is_stopped and "bad" in want.values())
    is_wrong = has_failed if run.state is State.SUCCEEDED else not may_fail
    if promise.cancelled_at is None and run.cancel_noted_at is None and is_wrong:
        yield "W6", f"it is {run.state} with {marks}"
