"""Measures two ways of doing the same work side by side: on a busy machine their ratio holds, absolute times do not."""

from __future__ import annotations

import gc
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

Work = Callable[[], object]


@dataclass(frozen=True)
class Cost:
    """The CPU of two ways, us per job, and their ratio."""

    ours: float
    bare: float

    @property
    def ratio(self) -> float:
        """Our CPU in multiples of the bare one; at 1, ours adds nothing."""
        return self.ours / self.bare

    def as_json(self) -> dict[str, float]:
        """The figures that a reader compares."""
        return {"ours": round(self.ours, 2), "bare": round(self.bare, 2), "ratio": round(self.ratio, 3)}

    def as_cells(self) -> list[str]:
        """The figures as cells of a table's row."""
        return [f"{self.ours:,.1f}", f"{self.bare:,.1f}", f"{self.ratio:.2f}"]


#: Compares two ways of the work of so many jobs, each repeated in so many runs.
Comparison = Callable[[Work, Work, int, int], Cost]


def timed(chunks: int) -> Comparison:
    """Compares by CPU time, by the cheapest of so many chunks."""
    return lambda ours, bare, jobs, runs: compare(ours, bare, jobs, chunks, runs)


def compare(ours: Work, bare: Work, jobs: int, chunks: int, runs_per_chunk: int) -> Cost:
    """Run chunks of both in turns; the cost of each way's cheapest chunk. `jobs`: the jobs of one run."""
    per_job = 1e6 / (jobs * runs_per_chunk)
    return Cost(*(seconds * per_job for seconds in cheapest([ours, bare], chunks, runs_per_chunk)))


def cheapest(works: Sequence[Work], chunks: int, runs_per_chunk: int = 1) -> list[float]:
    """The CPU seconds of each work's cheapest chunk; the works' chunks take turns."""
    for work in works:
        work()
    gc.collect()
    gc.freeze()  # as in a Lambda's environment, once it is wired
    turns = [[cpu_seconds(work, runs_per_chunk) for work in works] for _ in range(chunks)]
    gc.unfreeze()
    return [min(costs) for costs in zip(*turns, strict=True)]


def cpu_seconds(work: Work, runs: int = 1) -> float:
    """The CPU of all threads of this process while `work` runs so many times.

    Earlier garbage is collected first, so that it does not count.
    """
    gc.collect()
    started = time.process_time()
    for _ in range(runs):
        work()
    return time.process_time() - started


def as_line(costs: dict[str, Cost]) -> str:
    """The costs as one line of JSON."""
    return json.dumps({name: cost.as_json() for name, cost in costs.items()})
