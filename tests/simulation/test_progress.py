"""The judge of runs sees what it is for: each rule is shown a run that is right, and others that are wrong."""

from __future__ import annotations

import random
from functools import partial
from typing import Any

import msgspec
import pytest

from clockwork.domain.executions import Execution, State
from clockwork.domain.ids import NodeJob, only_execution
from clockwork.domain.workflows.graph import Mark
from clockwork.domain.workflows.progress import Marks, Sets, opened
from clockwork.memory.clock import MemoryClock
from clockwork.settings import Settings
from tests.simulation.progress import ENDS_AT_ONCE_MS, ENDS_WITHIN_MS, Progress
from tests.simulation.scheduler import Scheduler
from tests.simulation.stores import Chronicle
from tests.simulation.watcher import Watcher
from tests.support.examples import changed
from tests.support.flowing import Flowing, node
from tests.support.run_rules import why_not_at_rest, why_not_ended, why_not_marked, why_not_opened, why_not_to_start

#: Two nodes, one that joins them, and one that handles the failure of the first.
NODES = {"a": node(), "b": node(), "join": node("a", "b"), "undo": node("a", when="failed")}
A, B, JOIN, UNDO = range(4)


class Seen:
    """A run whose nodes have ended, with the judge that has seen it begin."""

    def __init__(self, fail: str = "") -> None:
        self.flowing = Flowing(NODES, fail=fail)
        begun: list[Execution] = []
        self.flowing.on_attempt = lambda *_: begun.append(self.flowing.record)
        self.flowing.run()
        self.begun = begun[0]
        self.put = msgspec.structs.replace(self.flowing.sets, marks=Marks())
        self.ended, self.sets = self.flowing.record, self.flowing.sets
        self.scheduler = Scheduler(MemoryClock(self.begun.due_at), random.Random(0))
        self.watcher = Watcher(self.scheduler, Settings.for_local())
        self.chronicle = Chronicle()
        self.watcher.executions = self.chronicle
        self.chronicle.note(self.begun)
        for one in self.flowing.records().values():
            self.chronicle.note(one)
        self.progress: Progress = self.watcher.progress
        self.progress.changed(None, self.put)

    def record(self, index: int) -> Execution | None:
        job = NodeJob(self.sets.partition_id, self.sets.run_id, self.sets.generations[index], index)
        return self.chronicle.find(job.job_id, only_execution(job.job_id, self.begun.due_at))

    def marked(self, **marks: set[int]) -> Sets:
        """The sets with these marks of nodes, all in the first generation."""
        numbers = {mark: frozenset(1_000 + index for index in some) for mark, some in marks.items()}
        return msgspec.structs.replace(self.sets, marks=Marks(**numbers))

    def starts(self, index: int, sets: Sets | None, run: Execution | None = None, generation: int = 1) -> str | None:
        """The rule against which the start of a node is."""
        place = NodeJob(self.sets.partition_id, self.sets.run_id, generation, index)
        return str(why_not_to_start(sets, run or self.begun, place, self.record))[:2]

    def told(self) -> list[str]:
        return [one.invariant for one in self.watcher.violations]


@pytest.fixture(name="seen")
def run_that_succeeded() -> Seen:
    return Seen()


def test_a_run_that_is_right_is_told_nothing_of(seen: Seen) -> None:
    seen.progress.changed(seen.put, seen.sets)
    for one in seen.flowing.records().values():
        seen.progress.recorded(None, one)
    seen.progress.recorded(seen.begun, seen.ended)
    assert (seen.told(), seen.progress.calm_objection()) == ([], None)


def test_a_node_starts_in_its_run_and_generation_behind_its_parents_and_by_its_rule(seen: Seen) -> None:
    both = seen.marked(ok={A, B})
    assert seen.starts(JOIN, both) == "No"
    assert seen.starts(JOIN, None) == "W1", "its run has no sets"
    assert seen.starts(JOIN, seen.marked(ok={A})) == "W1", "a parent has not ended"
    assert seen.starts(JOIN, seen.marked(ok={A}, bad={B})) == "W1", "a parent has another end by its record"
    assert seen.starts(UNDO, both) == "W1", "its rule is against it"
    assert seen.starts(JOIN, both, seen.ended) == "W4", "its run has ended"
    assert seen.starts(JOIN, both, changed(seen.begun, attempt=2)) == "W4", "its run is in another generation"
    assert seen.starts(JOIN, both, generation=2) == "W8"


@pytest.mark.parametrize(
    ("mark", "state", "is_stopped", "is_right"),
    [
        ("ok", State.SUCCEEDED, False, True),
        ("ok", State.DEAD, False, False),
        ("ok", None, True, False),
        ("bad", State.CANCELLED, False, True),
        ("bad", State.SUCCEEDED, False, False),
        ("bad", State.RUNNING, True, False),
        ("bad", None, True, True),
        ("bad", None, False, False),
        ("off", None, False, True),
        ("off", State.DEAD, False, False),
    ],
)
def test_a_mark_says_what_the_record_says(
    seen: Seen, mark: Mark, state: State | None, *, is_stopped: bool, is_right: bool
) -> None:
    record = None if state is None else changed(seen.ended, state=state)
    assert (why_not_marked(mark, record, is_stopped=is_stopped) is None) == is_right


def test_a_redrive_opens_what_did_not_succeed_what_is_named_and_all_behind(seen: Seen) -> None:
    before = seen.marked(ok={A, B}, bad={JOIN}, off={UNDO})
    assert why_not_opened(before, opened(before, 2, [JOIN], 0), []) is None
    assert why_not_opened(before, opened(before, 2, [JOIN, A], 0), [A]) is None
    assert why_not_opened(before, opened(before, 2, [], 0), []) is not None
    assert why_not_opened(before, opened(before, 2, [JOIN, UNDO], 0), []) is not None
    seen.progress.changed(before, opened(before, 2, [JOIN, B], 0))
    assert seen.told() == ["W8"]


@pytest.mark.parametrize(
    ("marks", "stop", "state", "is_right"),
    [
        ({"ok": {A, B, JOIN}, "off": {UNDO}}, 0, State.SUCCEEDED, True),
        ({"ok": {A, B, JOIN}, "off": {UNDO}}, 0, State.DEAD, False),
        ({"ok": {A, B}, "off": {UNDO}}, 0, State.SUCCEEDED, False),
        ({"ok": {B, UNDO}, "bad": {A}, "off": {JOIN}}, 0, State.DEAD, True),
        ({"ok": {B, UNDO}, "bad": {A}, "off": {JOIN}}, 0, State.SUCCEEDED, False),
        ({"ok": {B, UNDO, JOIN}, "bad": {A}}, 0, State.DEAD, False),
        ({"ok": {A, B}, "bad": {JOIN}, "off": {UNDO}}, 1, State.CANCELLED, True),
        ({"ok": {A, B}, "bad": {JOIN}, "off": {UNDO}}, 1, State.SUCCEEDED, False),
        ({"ok": {A, B, JOIN}, "off": {UNDO}}, 1, State.SUCCEEDED, True),
    ],
)
def test_the_end_of_a_run_is_a_function_of_the_outcomes_of_its_nodes(
    seen: Seen, marks: dict[str, set[int]], stop: int, state: State, *, is_right: bool
) -> None:
    sets = msgspec.structs.replace(seen.marked(**marks), stop=stop)
    assert (why_not_ended(sets, changed(seen.ended, state=state), is_whole=False) is None) == is_right


def test_a_run_that_ends_has_nothing_at_work(seen: Seen) -> None:
    work = changed(seen.begun, job_id="node")
    until = work.claim.until or 0 if work.claim is not None else 0
    judge = partial(why_not_at_rest, [work])
    assert judge(lambda *one: one == (work.execution_id, work.attempt), until - 1) is not None
    assert judge(lambda *_: False, until - 1) is None, "it was claimed, and finds its run stopped before it starts"
    assert judge(lambda *_: True, until) is None, "its claim is over"


def test_a_node_has_one_mark_and_the_sets_live_as_long_as_the_run(seen: Seen) -> None:
    seen.progress.changed(seen.put, seen.marked(ok={A}, bad={A}))
    assert seen.told() == ["W3"]


@pytest.mark.parametrize(
    ("fields", "rule"),
    [({"expires_at": 1}, "W9"), ({"marks": Marks(ok=frozenset({1_000}))}, "W6")],
)
def test_a_run_ends_once_its_nodes_have_and_its_sets_outlive_it(seen: Seen, fields: dict[str, Any], rule: str) -> None:
    seen.progress.changed(seen.put, msgspec.structs.replace(seen.sets, **fields))
    seen.progress.recorded(seen.begun, seen.ended)
    assert seen.told() == [rule]


def test_results_outlive_the_run(seen: Seen) -> None:
    seen.progress.changed(seen.put, seen.sets)
    first = seen.record(A)
    assert first is not None
    seen.chronicle.note(changed(first, expires_at=seen.ended.expires_at - 1))
    seen.progress.recorded(seen.begun, seen.ended)
    assert seen.told() == ["W9"]


def test_a_run_ends_soon_after_its_last_node(seen: Seen) -> None:
    last = list(seen.flowing.records().values())[-1]
    seen.progress.changed(seen.put, seen.sets)
    seen.progress.calm_from = seen.scheduler.now
    seen.progress.recorded(None, last)
    seen.scheduler.clock.at += ENDS_AT_ONCE_MS + 1
    seen.progress.recorded(seen.begun, seen.ended)
    assert seen.told() == []
    assert seen.progress.calm_objection() is not None
    seen.scheduler.clock.at += ENDS_WITHIN_MS
    seen.progress.recorded(seen.begun, seen.ended)
    assert seen.told() == ["W7"]
