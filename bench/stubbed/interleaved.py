"""Two ways of doing the same, measured side by side: on a busy machine their ratio holds, absolute times do not."""

from __future__ import annotations

import gc
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

Work = Callable[[], object]


@dataclass(frozen=True)
class Cost:
    """CPU of two ways, us per job, and how many times the first takes what the second takes."""

    ours: float
    bare: float

    @property
    def ratio(self) -> float:
        """1 is: nothing is added."""
        return self.ours / self.bare

    def as_json(self) -> dict[str, float]:
        """The figures that a reader compares."""
        return {"ours": round(self.ours, 2), "bare": round(self.bare, 2), "ratio": round(self.ratio, 3)}

    def as_cells(self) -> list[str]:
        """The figures of a line of a table."""
        return [f"{self.ours:,.1f}", f"{self.bare:,.1f}", f"{self.ratio:.2f}"]


def compare(ours: Work, bare: Work, jobs: int, chunks: int, runs_per_chunk: int) -> Cost:
    """Alternating chunks of both, the cheapest of each. `jobs` are done by one run."""
    per_job = 1e6 / (jobs * runs_per_chunk)
    return Cost(*(seconds * per_job for seconds in cheapest([ours, bare], chunks, runs_per_chunk)))


def cheapest(works: Sequence[Work], chunks: int, runs_per_chunk: int = 1) -> list[float]:
    """The CPU seconds of each work's cheapest chunk, of so many that take turns."""
    for work in works:
        work()
    gc.collect()
    gc.freeze()  # as in a Lambda's environment, once it is wired
    turns = [[cpu_seconds(work, runs_per_chunk) for work in works] for _ in range(chunks)]
    gc.unfreeze()
    return [min(costs) for costs in zip(*turns, strict=True)]


def cpu_seconds(work: Work, runs: int = 1) -> float:
    """What all threads of this process use while `work` runs so many times, without the garbage of what went before."""
    gc.collect()
    started = time.process_time()
    for _ in range(runs):
        work()
    return time.process_time() - started


def as_line(costs: dict[str, Cost]) -> str:
    """The result as one line of JSON."""
    return json.dumps({name: cost.as_json() for name, cost in costs.items()})
