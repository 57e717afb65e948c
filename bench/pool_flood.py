"""A flood in a pool: how long a quiet client's jobs take beside another client's, in virtual time.

One process of ten slots works for a pool, with the receiving, claims and draws of the SDK. The API answers from three
environments. All jobs take equally long: a second, so that 600 of them are the work of a minute, or ten seconds. 100
jobs of the quiet client are due in that time, first alone, and then beside 600 tickets of another client that are due
at once. The time from due to end counts. Figures are of several runs together.

    python -m bench.pool_flood [--json] [--runs N]

The last line of standard output is one JSON object. Exits 1 if the quiet client's p99 is more than twice its own alone
at any priority, or if anything is lost or runs twice. About two minutes.
"""

from __future__ import annotations

import argparse
import json
import logging
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any, NamedTuple

from bench.arrivals.percentiles import percentile
from bench.isolating.pool import FLOOD, flood
from bench.reporting.tables import machine, table
from clockwork.targets.pool import Priority

RUNS = 5
#: The quiet client's jobs may take this many times as long as alone.
TIMES = 2


class Scene(NamedTuple):
    """The priority of all jobs, how long (ms) each takes, and how far apart (ms) two tickets of the flood are due."""

    priority: Priority
    takes_ms: int
    apart_ms: int = 0

    def __str__(self) -> str:
        return f"{self.priority}, {self.takes_ms / 1000:g} s{', a trickle' if self.apart_ms else ''}"


TRICKLE = Scene("high", 1_000, apart_ms=100)
SCENES = (
    Scene("high", 1_000),
    Scene("normal", 1_000),
    Scene("low", 1_000),
    Scene("high", 10_000),
    TRICKLE,
)


def measure(runs: int = RUNS, scenes: Sequence[Scene] = SCENES) -> dict[str, Any]:
    """The figures of each scene. All runs share the cores, since virtual time does not depend on other work."""
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as processes:
        started = {
            scene: {
                count: [
                    processes.submit(flood, scene.priority, scene.takes_ms, seed, count=count, apart_ms=scene.apart_ms)
                    for seed in range(runs)
                ]
                for count in (0, FLOOD)
            }
            for scene in scenes
        }
        found = {}
        for scene, of_scene in started.items():
            alone, beside = ([one.result() for one in of_scene[count]] for count in (0, FLOOD))
            figures = {
                "lost": sum(one.lost for one in (*alone, *beside)),
                "duplicates": sum(one.duplicates for one in (*alone, *beside)),
            }
            for name, some in (("p99Ms", beside), ("p99AloneMs", alone)):
                figures[name] = int(percentile(sorted(ms for one in some for ms in one.quiet_ms), 0.99))
            found[str(scene)] = figures
    return found


def broken(found: Mapping[str, Mapping[str, int]]) -> list[str]:
    """A sentence about each bound that does not hold."""
    said = []
    for name, of_one in found.items():
        said += [f"{name}: {of_one[count]} {count}" for count in ("lost", "duplicates") if of_one[count]]
        if of_one["p99Ms"] > TIMES * of_one["p99AloneMs"]:
            said.append(f"{name}: the p99 is {of_one['p99Ms']} ms, and {of_one['p99AloneMs']} ms alone")
    return said


def page(found: Mapping[str, Mapping[str, int]]) -> str:
    """The table."""
    heads = ["jobs", "p99 ms", "alone", "lost", "duplicates"]
    keys = ("p99Ms", "p99AloneMs", "lost", "duplicates")
    rows = [[name, *(f"{of_one[key]:,}" for key in keys)] for name, of_one in found.items()]
    return f"{table(heads, rows)}\n\n{machine()}"


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line. Exits 1 if a bound does not hold."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.pool_flood", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true", help="no table, the JSON alone")
    parser.add_argument("--runs", type=int, default=RUNS, help=f"runs of each scene (default {RUNS})")
    options = parser.parse_args(arguments)
    logging.disable(logging.CRITICAL)
    try:
        found = measure(options.runs)
    finally:
        logging.disable(logging.NOTSET)
    if not options.json:
        sys.stderr.write(f"{page(found)}\n")
    for sentence in (faults := broken(found)):
        sys.stderr.write(f"{sentence}\n")
    print(json.dumps(found))
    if faults:
        sys.exit(1)


if __name__ == "__main__":
    main()
