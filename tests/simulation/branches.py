"""Measures which share of the flows' branches the runs take: in the process of each run, then summed up."""

from __future__ import annotations

import json
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TypeVar

import coverage

import clockwork.flows

R = TypeVar("R")
#: By file: the line-to-line steps that were taken.
Arcs = Mapping[str, set[tuple[int, int]]]
FLOWS = Path(next(iter(clockwork.flows.__path__)))


def measured(work: Callable[[], R]) -> tuple[R, Arcs]:
    """The result of some work, and the steps of the flows that it took."""
    measuring = _measuring()
    measuring.start()
    try:
        result = work()
    finally:
        measuring.stop()
    taken = measuring.get_data()
    return result, {file: set(taken.arcs(file) or ()) for file in taken.measured_files()}


def share_of(runs: Iterable[Arcs]) -> float:
    """The share (0-1) of all branches of all flows that the runs took together."""
    together: defaultdict[str, set[tuple[int, int]]] = defaultdict(set)
    for arcs in runs:
        for file, steps in arcs.items():
            together[file] |= steps
    measuring = _measuring()
    measuring.get_data().add_arcs(together)
    measuring.get_data().touch_files([str(file) for file in FLOWS.rglob("*.py")])
    with tempfile.TemporaryDirectory() as place:
        report = Path(place, "report.json")
        measuring.json_report(outfile=str(report))
        totals = json.loads(report.read_text())["totals"]
    return round(float(totals["covered_branches"] / totals["num_branches"]), 4)


def _measuring() -> coverage.Coverage:
    return coverage.Coverage(
        data_file=None, branch=True, concurrency="greenlet", include=f"{FLOWS}/*", config_file=False, messages=False
    )
