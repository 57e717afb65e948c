"""The judge of runs of workflows at each step: at each start of a node, each change of sets, and each end of a run.

W1 to W4, W6, W8 and W9 are judged as they happen. W7 is judged by two bounds. Once faults have stopped, a run ends soon
after its last node and soon after its time is over. Where none struck, it ends at once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Mapping
from functools import partial
from typing import Protocol

from clockwork.domain.executions import Execution
from clockwork.domain.ids import NodeJob, decode_execution, decode_node, is_node, only_execution, run_of
from clockwork.domain.jobs import Occurrence
from clockwork.domain.releases import Delivery
from clockwork.domain.runs.beginning import deadline_of, is_run, occurrence_of
from clockwork.domain.workflows.graph import Mark
from clockwork.domain.workflows.progress import Marks, Sets
from clockwork.ports import Executions
from tests.support.run_rules import (
    why_not_at_rest,
    why_not_ended,
    why_not_kept,
    why_not_marked,
    why_not_opened,
    why_not_to_start,
)

#: Once faults have stopped a run ends so long (ms) after its last node or its deadline: a step of its watch and a
#: visibility timeout.
ENDS_WITHIN_MS = 1_300_000
#: Where nothing goes wrong it ends so soon (ms) after its last node.
ENDS_AT_ONCE_MS = 3_000


class Promised(Protocol):
    """An acknowledged job, as this judge asks about it."""

    @property
    def execution_id(self) -> str:
        """The executionId of its first run."""

    @property
    def occurrence(self) -> Occurrence:
        """The occurrence that the client was told of."""


class Watching(Protocol):
    """The watcher, as this judge uses it."""

    @property
    def now(self) -> int:
        """True time (ms)."""

    @property
    def executions(self) -> Executions:
        """The records as they were stored last."""

    @property
    def attempts(self) -> Counter[tuple[str, int]]:
        """How often each attempt was started: by execution and number."""

    @property
    def first_starts(self) -> Container[str]:
        """The executions that were started."""

    @property
    def promises(self) -> Mapping[str, Promised]:
        """The acknowledged jobs by their ids."""

    def violated(self, invariant: str, what: str, about: str) -> None:
        """Notes a violation, and ends the run."""


class Progress:
    """All runs of a seed, as their sets and records tell."""

    def __init__(self, watcher: Watching) -> None:
        self._watcher = watcher
        self._sets: dict[str, Sets] = {}
        #: When (ms, true time) the last node of each run ended, or the run was stopped.
        self._ended_at: dict[str, int] = {}
        #: The generations of runs all nodes of which had ended before these were stopped, if they were.
        self._whole: set[tuple[str, int]] = set()
        #: When (ms, true time) faults stopped; None: they may strike.
        self.calm_from: int | None = None
        #: How long (ms) after its last node each run ended, by executionId.
        self.lateness_ms: dict[str, int] = {}

    def started(self, delivery: Delivery) -> None:
        """Notes the start of a node."""
        node = decode_node(delivery.job_id)
        sets = self._sets.get(node.run_id)
        run = None if sets is None else self._run_of(sets)
        self._told(why_not_to_start(sets, run, node, partial(self._record_of, sets)), delivery.job_id)

    def changed(self, before: Sets | None, after: Sets) -> None:
        """Notes sets that were stored in place of others."""
        self._sets[after.run_id] = after
        run = self._run_of(after)
        assert run is not None, "its record was begun before"
        if before is not None:
            self._told(self._why_not_added(before.marks, after), run.job_id)
        if before is not None and before.generation != after.generation:
            _, target = occurrence_of(run)
            named = [list(target.nodes).index(name) for name in target.again]
            self._told(why_not_opened(before, after, named), run.job_id)
        if after.is_stopped and (before is None or not before.is_stopped):
            # What waited alone, for a delay as well, is over from now on.
            self._ended_at[after.run_id] = self._watcher.now
        if not after.is_stopped and len(after.outcomes()) == after.nodes.size:
            self._whole.add((after.run_id, after.generation))

    def recorded(self, before: Execution | None, after: Execution) -> None:
        """Notes a record that was stored in place of another."""
        if is_node(after.job_id):
            if after.is_final and (before is None or not before.is_final):
                self._ended_at[decode_node(after.job_id).run_id] = self._watcher.now
        elif before is not None and is_run(before) and after.is_final:
            self._ended(before, after)

    def _why_not_added(self, before: Marks, after: Sets) -> str | None:
        marks = after.marks
        if twice := marks.ok & marks.bad | (marks.ok | marks.bad) & marks.off:
            return f"W3: nodes have two marks: {sorted(twice)}"
        added: dict[Mark, frozenset[int]] = {
            "ok": marks.ok - before.ok,
            "bad": marks.bad - before.bad,
            "off": marks.off - before.off,
        }
        for mark, numbers in added.items():
            for number in numbers:
                generation, index = divmod(number, 1_000)
                record = self._record_of(after, index, generation)
                # A node that is claimed behind the stop of its run is marked as if it had no record: it never starts.
                if record is not None and not record.is_final and record.execution_id not in self._watcher.first_starts:
                    record = None
                fault = why_not_marked(mark, record, is_stopped=after.stop >= generation)
                if fault is not None:
                    return f"W1: of node {index} {fault}"
        return None

    def _ended(self, run: Execution, ended: Execution) -> None:
        """Notes the end of a run."""
        run_id, now = run_of(run.execution_id), self._watcher.now
        sets = self._sets.get(run_id)
        if sets is None:
            self._told("W6: a run that has begun ends without sets", run.job_id)
            return
        records = {index: self._record_of(sets, index) for index in range(sets.nodes.size)}
        known = [one for one in records.values() if one is not None]
        is_whole = (run_id, sets.generation) in self._whole
        self._told(why_not_at_rest(known, lambda *one: self._watcher.attempts[one] > 0, now), run.job_id)
        self._told(why_not_ended(sets, ended, is_whole=is_whole), run.job_id)
        self._told(why_not_kept(sets, known, ended), run.job_id)
        late = now - self._ended_at.get(run_id, now)
        self.lateness_ms[run.execution_id] = late
        if self.calm_from is not None:
            late = now - max(self.calm_from, min(now - late, deadline_of(run)))
            self._told(f"W7: it ends {late} ms late" if late > ENDS_WITHIN_MS else None, run.job_id)

    def calm_objection(self, is_held_up: Callable[[Occurrence], bool] = lambda _: False) -> str | None:
        """The objection of W7 to the runs of a seed in which nothing went wrong but at the work that `is_held_up`."""
        promised = {one.execution_id: one.occurrence for one in self._watcher.promises.values()}
        held = {one for one, occurrence in promised.items() if is_held_up(occurrence)}
        late = {one: late for one, late in self.lateness_ms.items() if late > ENDS_AT_ONCE_MS and one not in held}
        return f"runs end late without a fault: {late}" if late else None

    def _told(self, why_not: str | None, about: str) -> None:
        if why_not is not None:
            rule, _, told = why_not.partition(": ")
            self._watcher.violated(rule, told, about)

    def _run_of(self, sets: Sets) -> Execution | None:
        return self._watcher.executions.find(decode_execution(sets.execution_id).job_id, sets.execution_id)

    def _record_of(self, sets: Sets | None, index: int, generation: int | None = None) -> Execution | None:
        """The record of a node in a generation, or else in its own."""
        run = None if sets is None else self._run_of(sets)
        assert sets is not None and run is not None, "asked once there is a run"
        node = NodeJob(sets.partition_id, sets.run_id, generation or sets.generations[index], index)
        return self._watcher.executions.find(node.job_id, only_execution(node.job_id, run.due_at))
