"""Measures which share of the flows' branches the runs take: in the process of each run, then summed up."""

from __future__ import annotations

import json
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
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


@dataclass(frozen=True)
class Branches:
    """How much of the flows the runs took together."""

    #: Of all branches of all flows, 0-1.
    share: float
    #: The branches that no run took, as `flows/deliver/park.py 31 -> 33`. A negative line is the end of that block.
    missing: tuple[str, ...]


def branches_of(runs: Iterable[Arcs]) -> Branches:
    """The branches of all flows that the runs took together, and those that none took."""
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
        read = json.loads(report.read_text())
    totals = read["totals"]
    missing = [
        f"flows/{Path(file).resolve().relative_to(FLOWS)} {first} -> {then}"
        for file, found in read["files"].items()
        for first, then in found["missing_branches"]
    ]
    return Branches(round(float(totals["covered_branches"] / totals["num_branches"]), 4), tuple(sorted(missing)))


def _measuring() -> coverage.Coverage:
    return coverage.Coverage(
        data_file=None, branch=True, concurrency="greenlet", include=f"{FLOWS}/*", config_file=False, messages=False
    )
