"""The runs of some jobs, counted at the receiver. Pure.

A *run* of a job is one request that came for it. It is complete if its sender was alive when it was answered. A run
that a kill cut off therefore does not count: its job has to run again, or is lost.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple


class Run(NamedTuple):
    """One request for a job: when it came, and when it was answered (epoch ms), None if it has not been yet."""

    began_at: float
    answered_at: float | None


Runs = Mapping[int, Sequence[Run]]


@dataclass(frozen=True, kw_only=True)
class Punctuality:
    """How late jobs were whose system was left alone. `late_ms`: each job's first run that was not too early."""

    jobs: int
    late_ms: Sequence[float]
    early: int
    lost: int
    duplicated: int


@dataclass(frozen=True, kw_only=True)
class Survival:
    """The effects of a kill on jobs.

    `longest_wait_seconds`: the longest wait of a job that ran, from the kill or its due instant on.
    """

    jobs: int
    lost: int
    duplicated: int
    longest_wait_seconds: float | None


def punctuality(due_at: Mapping[int, int], runs: Runs) -> Punctuality:
    """The punctuality of the jobs whose due instants (ms) are given by number."""
    came = {number: [run.began_at for run in runs[number]] for number in due_at if runs.get(number)}
    late = [min(instants) - due_at[number] for number, instants in came.items()]
    return Punctuality(
        jobs=len(due_at),
        late_ms=late,
        early=sum(ms < 0 for ms in late),
        lost=len(due_at) - len(came),
        duplicated=sum(len(instants) > 1 for instants in came.values()),
    )


def survival(due_at: Mapping[int, int], runs: Runs, killed_at: float) -> Survival:
    """The effects of a kill at `killed_at` (ms) on the jobs whose due instants (ms) are given by number."""
    complete = {number: [run for run in runs.get(number, ()) if is_complete(run, killed_at)] for number in due_at}
    waits = [
        (min(run.began_at for run in some) - max(due_at[number], killed_at)) / 1_000
        for number, some in complete.items()
        if some and min(run.began_at for run in some) >= killed_at
    ]
    return Survival(
        jobs=len(due_at),
        lost=sum(not some for some in complete.values()),
        duplicated=sum(len(some) > 1 for some in complete.values()),
        longest_wait_seconds=max(waits, default=None),
    )


def is_complete(run: Run, killed_at: float) -> bool:
    """Whether a kill left this run alone: it began afterwards, or had been answered before."""
    return run.began_at >= killed_at or (run.answered_at is not None and run.answered_at < killed_at)


def missing(due_at: Mapping[int, int], runs: Runs, killed_at: float = 0) -> int:
    """How many of the jobs have no complete run so far."""
    return sum(not any(is_complete(run, killed_at) for run in runs.get(number, ())) for number in due_at)
