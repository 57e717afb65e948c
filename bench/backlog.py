"""The memory of a poller for a shard on which a million jobs are due: no more than for one page of them.

The flow runs over the ports in memory. The timeline makes its rows when they are read and the queue keeps no messages,
so that the measured memory is the poller's own. The library botocore is loaded, as in the Lambda.

    python -m bench.backlog [--json] [--docs] [--jobs N]

The last line of standard output is one JSON object: {jobs, released, commits, peakMb}.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from bench.reporting.report import publish
from bench.reporting.tables import machine, paragraph
from bench.stubbed.pending import AllDue, polls
from bench.stubbed.stub_world import stub_world

JOBS = 1_000_000
#: The unit of `ru_maxrss` in bytes, on macOS and on Linux: https://man7.org/linux/man-pages/man2/getrusage.2.html
_RSS_UNIT = 1 if sys.platform == "darwin" else 1024


def measure(jobs: int) -> dict[str, float]:
    """Poll a shard with so many due jobs in this process, and measure the peak memory of the process."""
    with stub_world("http://127.0.0.1:1"):
        report = polls(AllDue(jobs))()
    return {"jobs": jobs, "released": report.released, "commits": report.commits, "peakMb": round(_peak_mb(), 1)}


def _peak_mb() -> float:
    """The most memory that this process has had, MB.

    On Linux it is the kernel's mark of this address space (VmHWM), since `ru_maxrss` counts memory of the parent, too.
    """
    status = Path("/proc/self/status")
    if status.exists():
        (mark,) = (line for line in status.read_text().splitlines() if line.startswith("VmHWM:"))
        return int(mark.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _RSS_UNIT / 2**20


def page(result: Mapping[str, float]) -> str:
    """The block in the documentation."""
    told = f"{result['jobs']:,} due jobs: {result['commits']:,} commits, at most {result['peakMb']:.0f} MB of memory."
    return paragraph(f"{told} {machine()}")


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.backlog", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true", help="the JSON alone, which is all there is")
    parser.add_argument("--docs", action="store_true", help="write the table into docs/performance.md")
    parser.add_argument("--jobs", type=int, default=JOBS, help=f"jobs that are due (default {JOBS:,})")
    options = parser.parse_args(arguments)
    result = measure(options.jobs)
    if options.docs:
        publish("backlog", page(result))
    print(json.dumps(result))


if __name__ == "__main__":
    main()
