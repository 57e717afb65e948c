"""Effects on others of one client whose jobs are poison, and of one that floods. Exits 1 if a bound does not hold.

Poison is one client's work that raises where nobody expects it, in nine kinds (`bench.isolating.poisons`). Each kind
runs twice: on the real adapters over the emulator, and in virtual time, where lateness is measured. Counts are those of
both. `p99AloneMs` is the lateness of the others without that client.

Two more kinds are a flood in a pool and a trickle (`bench.pool_flood`). Their figures are times from due to end, in
virtual time alone.

A flood is 5,000 jobs of one client on one second, in virtual time: once to a target that answers at once, once to one
that takes 2 s. Beside it five other clients have 20 jobs a second. Their lateness is measured from 2 s before the flood
to 20 s after it. Figures are of several runs together.

`capacityUsed` is the mean busy share of the deliverers that the slow client may take while others have work. It counts
from the instant of the flood until fewer messages wait than these deliverers take at once. Its `p99Ms` is the lateness
of the flood itself.

    python -m bench.isolation [--json] [--docs] [--runs N]

The table goes to standard error, with --docs also into docs/performance.md; the last line of standard output is one
JSON object. About two minutes.
"""

from __future__ import annotations

import argparse
import json
import logging
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import reduce
from multiprocessing import get_context
from typing import Any

from bench import pool_flood
from bench.arrivals.virtual import TARGET_MS
from bench.isolating import scenes, stack
from bench.isolating.poisons import POISONS
from bench.isolating.scenes import SLOW_MS, Flooded, Seen
from bench.reporting.report import publish
from bench.reporting.tables import table
from local.emulator import Credentials, emulator

FLOOD, RUNS = 5_000, 5
#: The others may be this many times as late as alone. Alone, less than `LEAST_MS` counts as that.
TIMES, LEAST_MS = 2, 50
LEAST_USED = 0.9
SLOW = (SLOW_MS, SLOW_MS)
#: The kinds of poison that are floods in a pool: what they are called, and what they are.
POOL_FLOODS = {
    "pool_flood": ("a flood in a pool, 1 s a job", pool_flood.Scene("high", 1_000)),
    "pool_trickle": ("a flood in a pool that trickles, 1 s a job", pool_flood.TRICKLE),
}
Seconds = tuple[int, int]


def measure_floods(runs: int, flood: int = FLOOD) -> dict[str, Any]:
    """The keys `slow` and `fast`. All runs share the cores, since virtual time does not depend on other work."""
    wanted: dict[str, tuple[int, Seconds]] = {
        "alone": (0, TARGET_MS),
        "fast": (flood, TARGET_MS),
        "slow": (flood, SLOW),
    }
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as processes:
        found = {
            name: [processes.submit(scenes.flood, count, answer_ms, seed) for seed in range(runs)]
            for name, (count, answer_ms) in wanted.items()
        }
        seen = {name: [one.result() for one in futures] for name, futures in found.items()}
    return floods(seen)


def floods(seen: Mapping[str, Sequence[Flooded]]) -> dict[str, Any]:
    """The keys `slow` and `fast` of what was seen `alone`, beside a `fast` flood and beside a `slow` one."""
    others = {name: reduce(Seen.and_, (one.others for one in runs)) for name, runs in seen.items()}
    flooding = {name: reduce(Seen.and_, (one.flood for one in runs)) for name, runs in seen.items()}
    counts = {
        name: {
            "othersP99Ms": others[name].p99_ms,
            "othersP99AloneMs": others["alone"].p99_ms,
            "p99Ms": flooding[name].p99_ms,
            "lost": others[name].lost + flooding[name].lost,
            "duplicates": others[name].duplicates + flooding[name].duplicates,
        }
        for name in ("slow", "fast")
    }
    used = sum(one.used for one in seen["slow"]) / len(seen["slow"])
    return {"slow": {"capacityUsed": round(used, 3), **counts["slow"]}, "fast": counts["fast"]}


def measure_poisons(runs: int) -> dict[str, Any]:
    """The key `poisons`."""
    alone = reduce(Seen.and_, (scenes.among_poison(None, seed) for seed in range(runs)))
    found = {}
    with emulator(secure=False) as running:
        for number, (name, poison) in enumerate(POISONS.items(), start=1):
            beside = reduce(Seen.and_, (scenes.among_poison(poison, seed) for seed in range(runs)))
            both = beside.and_(stack.among_poison(running, Credentials.root(f"{number:012d}"), poison))
            counts = {"lost": both.lost, "duplicates": both.duplicates}
            found[name] = {**counts, "p99Ms": both.p99_ms, "p99AloneMs": alone.p99_ms}
    measured = pool_flood.measure(runs, [scene for _, scene in POOL_FLOODS.values()])
    return found | dict(zip(POOL_FLOODS, measured.values(), strict=True))


def broken(result: Mapping[str, Any]) -> list[str]:
    """A sentence about each bound that does not hold."""
    said = []
    figures = {f"poison {name}": figures for name, figures in result["poisons"].items()}
    for name, of_one in {**figures, "slow": result["slow"], "fast": result["fast"]}.items():
        said += [f"{name}: {of_one[count]} {count}" for count in ("lost", "duplicates") if of_one[count]]
        prefix = "p99" if name in figures else "othersP99"
        most = TIMES * max(of_one[f"{prefix}AloneMs"], LEAST_MS)
        if of_one[f"{prefix}Ms"] > most:
            said.append(f"{name}: the others' p99 is {of_one[f'{prefix}Ms']} ms, at most {most} were allowed")
    if result["slow"]["capacityUsed"] < LEAST_USED:
        said.append(f"slow: {result['slow']['capacityUsed']} of the capacity is used, {LEAST_USED} is the least")
    return said


def page(result: Mapping[str, Any]) -> str:
    """The block in the documentation: the worst figure of all kinds of poison, and each flood."""
    heads = ["beside", "others' p99 ms", "alone", "lost", "duplicates", "its own p99 ms", "capacity used"]
    keys = ("p99Ms", "p99AloneMs", "lost", "duplicates")
    poisons = [result["poisons"][name] for name in POISONS]
    worst = [str(max(one[key] for one in poisons)) for key in keys]
    rows = [[f"poison of {len(poisons)} kinds, the worst of each figure", *worst, "", ""]]
    for name, (said, _) in POOL_FLOODS.items():
        rows.append([said, *(str(result["poisons"][name][key]) for key in keys), "", ""])
    for name, says in {"fast": "a flood, answered at once", "slow": "a flood, 2 s an answer"}.items():
        figures = [str(result[name][key]) for key in ("othersP99Ms", "othersP99AloneMs", "lost", "duplicates")]
        rows.append([says, *figures, f"{result[name]['p99Ms']:,}", str(result[name].get("capacityUsed", ""))])
    return table(heads, rows)


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line. Exits 1 if a bound does not hold."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.isolation", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true", help="no table, the JSON alone")
    parser.add_argument("--docs", action="store_true", help="write the table into docs/performance.md")
    parser.add_argument("--runs", type=int, default=RUNS, help=f"runs of each scene (default {RUNS})")
    options = parser.parse_args(arguments)
    # Each fault that is contained is logged, which is its purpose and not the result.
    logging.disable(logging.CRITICAL)
    try:
        result = {"poisons": measure_poisons(options.runs), **measure_floods(options.runs)}
    finally:
        logging.disable(logging.NOTSET)
    if not options.json:
        sys.stderr.write(f"{page(result)}\n")
    if options.docs:
        publish("isolation", page(result))
    found = broken(result)
    for sentence in found:
        sys.stderr.write(f"{sentence}\n")
    print(json.dumps(result))
    if found:
        sys.exit(1)


if __name__ == "__main__":
    main()
