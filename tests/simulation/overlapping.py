"""Judge whom `overlap: skip` skips: of executions that look at each other at the same time, one goes on."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from clockwork.domain.executions import Execution, State
from clockwork.domain.named.overlaps import UNDER_WAY

#: A claim that was made so long (ms, true time) after a change to `overlap: skip` looks by it, whatever its clock says.
LOOKS_AFTER_MS = 15_000


@dataclass(frozen=True)
class End:
    """An end of an execution: when (ms, true time), and how."""

    at: int
    is_overlap: bool


@dataclass(frozen=True)
class Skip:
    """An execution that was claimed at `since` (ms, true time) and skipped at `at`, as another one was under way."""

    job_id: str
    execution_id: str
    since: int
    at: int
    was_tried: bool


class Overlapping:
    """All ends and claims of the executions of named jobs."""

    def __init__(self) -> None:
        self._claimants: dict[str, str | None] = {}
        self._claimed_at: dict[str, int] = {}
        self._seen_at: dict[str, int] = {}
        self._ends: defaultdict[str, list[End]] = defaultdict(list)
        self._latest: defaultdict[str, dict[str, Execution]] = defaultdict(dict)
        self._skips: list[Skip] = []

    def recorded(self, after: Execution, now: int) -> None:
        """Note a record that was stored at `now` (ms, true time)."""
        execution_id = after.execution_id
        before = self._latest[after.job_id].get(execution_id)
        self._latest[after.job_id][execution_id] = after
        self._seen_at.setdefault(execution_id, now)
        if after.state is State.RUNNING and self._claimants.get(execution_id) != after.claimant:
            self._claimants[execution_id], self._claimed_at[execution_id] = after.claimant, now
        if not after.is_final or (before is not None and before.is_final):
            return
        is_overlap = after.state is State.SKIPPED and after.reason == UNDER_WAY
        self._ends[execution_id].append(End(now, is_overlap))
        if is_overlap and before is not None and before.state is State.RUNNING:
            since = self._claimed_at[execution_id]
            self._skips.append(Skip(after.job_id, execution_id, since, now, _was_tried(before)))

    def objections(self, skips_since: Mapping[str, int]) -> Iterator[str]:
        """The executions that were skipped though none was in their way, when all have ended.

        `skips_since`: since when the jobs that are `overlap: skip` to the end have been so (ms, true time), by jobId.
        """
        for skip in self._skips:
            looks_from = skips_since.get(skip.job_id)
            if looks_from is None or skip.since < looks_from + LOOKS_AFTER_MS:
                continue
            others = self._latest[skip.job_id].values()
            if not any(self._is_in_the_way(other, skip, looks_from + LOOKS_AFTER_MS) for other in others):
                yield f"{skip.execution_id} is skipped, and no other execution was in its way"

    def _is_in_the_way(self, other: Execution, skip: Skip, looks_from: int) -> bool:
        """Whether another execution had not ended, and comes first or was not skipped by the same look."""
        execution_id = other.execution_id
        if execution_id == skip.execution_id or self._seen_at[execution_id] > skip.at:
            return False
        ends = [end for end in self._ends[execution_id] if end.at >= skip.since]
        if not ends and other.is_final:
            return False
        is_first = (not _was_tried(other), execution_id) < (not skip.was_tried, skip.execution_id)
        may_have_run = self._claimed_at.get(execution_id, 0) < looks_from and execution_id in self._claimed_at
        return is_first or may_have_run or not ends or not ends[0].is_overlap


def _was_tried(stored: Execution) -> bool:
    return any(attempt.number > stored.budget.start for attempt in stored.attempts)
