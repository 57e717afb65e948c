"""Soak: puts a steady load on a deployed stack of its own for some minutes, then checks that nothing grew.

    python -m tests.soak [--minutes N] [--seed N]

Progress goes to standard error; the last line of standard output is one JSON object. The exit status is 1 if anything
was lost or early, or grew; 2 if the soak could not run. It takes the given minutes and one more.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections.abc import Sequence
from functools import partial
from typing import Any

from local.stack import say_on_terminal
from tests.chaos.audit import Audit, faults
from tests.chaos.command import run
from tests.chaos.scene import scene
from tests.soak.run import PARTS, Soak
from tests.soak.windows import Window, growths, wrong

SHORTEST_MINUTES, LONGEST_MINUTES = 2, 120


def main(arguments: Sequence[str] | None = None) -> int:
    """Parses the command line and runs the soak; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.soak", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=_minutes, default=5.0, help="2 to 120 (%(default)s)")
    parser.add_argument("--seed", type=int, default=random.randrange(2**32), help="of the load (a new one each time)")
    options = parser.parse_args(arguments)
    return run(partial(_soak, options.minutes, options.seed))


def _soak(minutes: float, seed: int) -> int:
    """Runs the whole soak; returns 1 if anything was wrong."""
    say_on_terminal(f"Seed {seed}")
    with scene(say_on_terminal) as ready:
        windows, total = Soak(ready, random.Random(seed), minutes * 60, _show).run()
    bad = [*faults(total, may_repeat=True), *wrong(windows, PARTS)]
    for sentence in bad:
        say_on_terminal(f"WRONG: {sentence}")
    print(json.dumps(report(minutes, windows, total, bad)), flush=True)
    return 1 if bad else 0


def _show(number: int, over: Window) -> None:
    """Shows one window in a line. Deliveries still missing from it may come later."""
    seen = over.audit
    memory = ", ".join(f"{part} {most / 1e6:.0f}" for part, most in over.memory.items())
    say_on_terminal(
        f"  {number:2}: {seen.delivered} of {seen.occurrences} delivered,"
        f" early {len(seen.early)}, twice {seen.repeated};"
        f" late p50 {seen.late_ms(0.5)} p99 {seen.late_ms(0.99)} max {seen.late_ms(1)} ms; MB: {memory}"
    )


def report(minutes: float, windows: Sequence[Window], total: Audit, bad: Sequence[str]) -> dict[str, Any]:
    """The JSON object that is printed at the end."""
    figures = total.as_json()
    return {
        "minutes": minutes,
        **figures,
        "duplicates": sum(figures["duplicates"].values()),
        "growth": {growth.what: round(growth.ratio, 2) for growth in growths(windows)},
        "windows": [one.as_json() for one in windows],
        "wrong": list(bad),
    }


def _minutes(text: str) -> float:
    minutes = float(text)
    if not SHORTEST_MINUTES <= minutes <= LONGEST_MINUTES:
        raise argparse.ArgumentTypeError(f"must be {SHORTEST_MINUTES} to {LONGEST_MINUTES}")
    return minutes


if __name__ == "__main__":
    sys.exit(main())
