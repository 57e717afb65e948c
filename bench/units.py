"""Billed units of a job on each path, metered at the real adapters against the emulator, and their price in dollars.

Every call of every actor counts: the API's reads of the client and of the shard, the ticker, the pollers' leases,
horizons and commits, the deliverers' claims and outcomes, receives and deletes. The handlers are the deployed ones;
they run in this process and in virtual time. The delivery to a job's target is not counted.

The units of a poller's visit (about 2 writes and 1 read) are shared by the jobs that the visit finds. On all paths
except `none_spread`, one visit to one shard finds all jobs; `none_spread` is an hour of 16 shards, almost idle.

Dollars are these units times `bench/billing/prices.py` and nothing else. A held batch is an invocation of the
deliverer, which AWS bills while it waits: half a second on average.

    python -m bench.units [--json] [--docs] [--jobs N] [--path NAME ...]

The last line of standard output is one JSON object, its dollars on demand and without fair queues; the tables go to
standard error, with --docs also into docs/performance.md. About a minute.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

from bench.billing.paths import PATHS
from bench.billing.unit_tables import page
from bench.billing.usage import Usage
from bench.reporting.report import publish
from local.emulator import Credentials, emulator

JOBS = 1_000


#: Processes that meter at once, each with its own emulator, which answers one request at a time.
PROCESSES = 2


def measure(names: Sequence[str], jobs: int, *, silent: bool) -> Mapping[str, Usage]:
    """The usage per job of each path. Counts do not depend on other work, so several paths are metered at once."""
    shares = [share for first in range(PROCESSES) if (share := names[first::PROCESSES])]
    with ProcessPoolExecutor(len(shares), mp_context=get_context("spawn")) as processes:
        found = [processes.submit(_meter, share, jobs, silent=silent) for share in shares]
        usages = {name: usage for share in found for name, usage in share.result().items()}
    return {name: usages[name] for name in names}


def _meter(names: Sequence[str], jobs: int, *, silent: bool) -> Mapping[str, Usage]:
    """Meter each path on tables of an account of its own."""
    usages = {}
    with emulator(secure=False) as running:
        for number, name in enumerate(names, start=1):
            usages[name] = PATHS[name].run(running, Credentials.root(f"{number:012d}"), jobs)
            if not silent:
                print(f"  {name}: {usages[name].dollars_per_million:.2f} $/million", file=sys.stderr, flush=True)
    return usages


def report(usages: Mapping[str, Usage]) -> str:
    """The result as one line of JSON."""
    dollars = {name: round(usage.dollars_per_million, 4) for name, usage in usages.items()}
    return json.dumps({**{name: usage.as_json() for name, usage in usages.items()}, "dollarsPerMillion": dollars})


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.units", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true", help="no tables, the JSON alone")
    parser.add_argument("--docs", action="store_true", help="write the tables into docs/performance.md")
    parser.add_argument("--jobs", type=int, default=JOBS, help=f"jobs per path (default {JOBS})")
    parser.add_argument("--path", action="append", choices=PATHS, help="only this path; may be repeated")
    options = parser.parse_args(arguments)
    if options.docs and options.path:
        parser.error("--docs writes the table of all paths, so it does not go with --path")
    usages = measure(options.path or list(PATHS), options.jobs, silent=options.json)
    if not options.json:
        sys.stderr.write(f"{page(usages)}\n")
    if options.docs:
        publish("units", page(usages))
    print(report(usages))


if __name__ == "__main__":
    main()
