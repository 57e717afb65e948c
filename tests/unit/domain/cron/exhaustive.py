"""Compares the engine with the oracle around every change of offset from 2000 to 2037 of every distinct time zone.

    python -m tests.unit.domain.cron.exhaustive [--zones N] [--all-options]

Prints a line for each disagreement and a summary; exits 1 if there was any, or if nothing was compared.
"""

import argparse
import hashlib
import sys
import time
from importlib.resources import files

from tests.unit.domain.cron.agreement import EXPRESSIONS, OPTIONS, disagreements
from tests.unit.domain.cron.oracle import changes_of_offset


def distinct_zones() -> list[str]:
    """One name for each different zone file of the tzdata package."""
    package = files("tzdata")
    names = sorted((package / "zones").read_text(encoding="ascii").split())
    by_content = {hashlib.sha256((package / "zoneinfo" / name).read_bytes()).digest(): name for name in names}
    return sorted(by_content.values())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--zones", type=int, default=None, help="only the first N zones")
    parser.add_argument("--all-options", action="store_true", help="all six combinations of dstGap and dstOverlap")
    arguments = parser.parse_args()
    options = OPTIONS if arguments.all_options else OPTIONS[:1]
    started, compared, wrong = time.monotonic(), 0, 0
    zones = distinct_zones()[: arguments.zones]
    for zone in zones:
        for change in changes_of_offset(zone, 2000, 2037):
            compared += len(EXPRESSIONS) * len(options)
            for disagreement in disagreements(zone, change, EXPRESSIONS, options):
                wrong += 1
                print(disagreement, flush=True)
    seconds = time.monotonic() - started
    print(f"{len(zones)} zones, {compared} comparisons, {wrong} disagreements, {seconds:.0f} s")
    return 1 if wrong or not compared else 0


if __name__ == "__main__":
    sys.exit(main())
