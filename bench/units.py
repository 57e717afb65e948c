"""Billed units of a job on each path, metered at the real adapters against the emulator, and their price in dollars.

Every call of every actor counts: the API's reads of the client and of the shard, the ticker, the pollers' leases,
horizons and commits, the deliverers' claims and outcomes, receives and deletes. The handlers are the deployed ones;
they run in this process and in virtual time. The delivery to a job's target is not counted.

The units of a poller's visit (about 2 writes and 1 read) are shared by the jobs that the visit finds. On all paths
except `none_spread`, one visit to one shard finds all jobs; `none_spread` is an hour of 16 shards, almost idle.

`dollarsPerMillion` are these units times `bench/billing/prices.py` and nothing else, in full batches of ten. A held
batch is an invocation of the deliverer, which AWS bills while it waits: half a second on average.

`curve` (200 bytes a job) and `curve1k` have dollars per million by jobs a second with everything that AWS bills. They
sum the units of `bench/costs/metered.py`, the model's batches and times at that rate, the api's time, logs, stored
bytes with their recovery, and the idle month's share. `controls` are the units of a call that reads or changes.

    python -m bench.units [--json] [--docs] [--jobs N] [--path NAME ...]

The last line of standard output is one JSON object, its dollars on demand and without fair queues; the tables go to
standard error, with --docs also into docs/performance.md. With --path neither the curve nor the controls. Some minutes.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

from bench.billing import handed
from bench.billing.controls import meter_controls
from bench.billing.paths import PATHS
from bench.billing.unit_tables import page
from bench.billing.usage import Usage
from bench.costs import scale
from bench.costs.measure import measure as measure_curve
from bench.costs.page import page as curve_page
from bench.costs.page import report as curve_report
from bench.reporting.report import publish
from bench.reporting.results import keep
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


def report(usages: Mapping[str, Usage], besides: Mapping[str, Any]) -> str:
    """The result as one line of JSON."""
    dollars = {name: round(usage.dollars_per_million, 4) for name, usage in usages.items()}
    units = {name: usage.as_json() for name, usage in usages.items()}
    return json.dumps({**units, "dollarsPerMillion": dollars, **besides})


def measure_controls() -> Mapping[str, Usage]:
    """The usage of a call of each kind that looks or changes."""
    with emulator(secure=False) as running:
        return meter_controls(running, Credentials.root())


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
    if options.path:
        print(report(usages, {}))
        return
    controls, curve = measure_controls(), measure_curve()
    if not options.json:
        sys.stderr.write(f"{curve_page(curve)}\n\n{page(usages, controls)}\n")
    if options.docs:
        keep("curve", curve)
        publish("curve", curve_page(curve))
        publish("units", page(usages, controls))
        handed.main()
        scale.main()
    called = {name: usage.as_json() for name, usage in controls.items()}
    print(report(usages, {"controls": called, **curve_report(curve)}))


if __name__ == "__main__":
    main()
