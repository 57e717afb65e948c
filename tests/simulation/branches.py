"""Which share of the flows' branches a simulation takes: measured in a process of its own, since tracing is slow."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import clockwork.flows

CONFIGURATION = """
[run]
branch = true
concurrency = greenlet
include = {flows}/*
data_file = {data}
"""


def measure_branches(seeds: int) -> float:
    """0-1: branches of `clockwork.flows` taken by so many seeds."""
    with tempfile.TemporaryDirectory() as place:
        configuration = Path(place, "coveragerc")
        flows = Path(next(iter(clockwork.flows.__path__)))
        configuration.write_text(CONFIGURATION.format(flows=flows, data=Path(place, "data")))
        run = [sys.executable, "-m", "coverage"]
        with_it = [f"--rcfile={configuration}"]
        simulate = ["-m", "tests.simulation", "--seeds", str(seeds), "--no-coverage", "--until-violation"]
        subprocess.run([*run, "run", *with_it, *simulate], check=False, stdout=subprocess.DEVNULL)
        report = Path(place, "report.json")
        subprocess.run([*run, "json", *with_it, "-o", str(report)], check=True, stdout=subprocess.DEVNULL)
        totals = json.loads(report.read_text())["totals"]
    return round(float(totals["covered_branches"] / totals["num_branches"]), 4)
