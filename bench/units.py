"""How many billed units a job costs on each path, metered at the real adapters against the emulator.

Every call of every actor counts: the API's reads of the client and of the shard, the ticker, the pollers' leases,
horizons and commits, the deliverers' claims and outcomes, receives and deletes. The handlers are those that are
deployed; they run in this process and in virtual time. The delivery to a job's target is not counted.

What is paid per visit of a poller (about 2 writes and 1 read) is shared by the jobs that the visit finds. All paths
but `none_spread` are one shard's visit that finds them all; `none_spread` is an hour of 16 shards, almost idle.

    python -m bench.units [--json] [--jobs N] [--path NAME ...]

The last line of standard output is one JSON object; the table goes to standard error.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence

from bench.paths import PATHS
from bench.usage import Usage
from local.emulator import Credentials, emulator

JOBS = 1_000
_HEADER = f"{'path':<18}{'writes':>8}{'reads':>8}{'SQS':>8}{'Lambda':>8}{'$/million':>11}{'HTTP API':>10}  per job\n"
_FOOTER = """
$/million: these four at on-demand prices of us-east-1 (bench/prices.py); `HTTP API` comes on top.
In neither: Lambda duration, storage, logs, alarms, the queue's empty receives, and the visits of pollers that find
nothing (2 writes and 1 read per shard and minute), but for `none_spread`, which has its hour of them.
"""


def measure(names: Sequence[str], jobs: int) -> Iterator[tuple[str, Usage]]:
    """The usage per job of each path, each on tables of its own."""
    with emulator(secure=False) as running:
        for number, name in enumerate(names, start=1):
            yield name, PATHS[name].run(running, Credentials.root(f"{number:012d}"), jobs)


def report(usages: Mapping[str, Usage]) -> str:
    """The result as one line of JSON."""
    dollars = {name: round(usage.dollars_per_million, 4) for name, usage in usages.items()}
    return json.dumps({**{name: usage.as_json() for name, usage in usages.items()}, "dollarsPerMillion": dollars})


def row(name: str, usage: Usage) -> str:
    """A line of the table."""
    units = "".join(f"{amount:8.3f}" for amount in usage.as_json().values())
    prices = f"{usage.dollars_per_million:11.3f}{usage.api_dollars_per_million:10.3f}"
    return f"{name:<18}{units}{prices}  {PATHS[name].says}\n"


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.units", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true", help="no table, the JSON alone")
    parser.add_argument("--jobs", type=int, default=JOBS, help=f"jobs per path (default {JOBS})")
    parser.add_argument("--path", action="append", choices=PATHS, help="only this path; may be repeated")
    options = parser.parse_args(arguments)
    say = (lambda _: None) if options.json else sys.stderr.write
    say(_HEADER)
    usages = {}
    for name, usage in measure(options.path or list(PATHS), options.jobs):
        usages[name] = usage
        say(row(name, usage))
    say(_FOOTER)
    print(report(usages))


if __name__ == "__main__":
    main()
