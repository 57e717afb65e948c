"""Chaos: plays one round per kind of fault on a deployed stack of its own, then accounts for every job.

    python -m tests.chaos [--only KIND ...] [--seed N]

The round `workers` is among those of a pool, on a stack of its own. Progress goes to standard error; the last line of
standard output is one JSON object. The exit status is 1 if anything was lost, early or otherwise wrong, and 2 if the
rounds could not run. All rounds together take twenty minutes.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from local.demo.screen import Screen
from local.dev.server import server
from local.stack import say_on_terminal
from tests.chaos import fleet
from tests.chaos.command import run
from tests.chaos.faults import FAULTS
from tests.chaos.rounds import Outcome, play
from tests.chaos.scene import scene

#: The round among workers.
WORKERS = "workers"


def main(arguments: Sequence[str] | None = None) -> int:
    """Parses the command line and runs the rounds; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.chaos", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--only", action="append", choices=[*(fault.name for fault in FAULTS), WORKERS], help="may be repeated"
    )
    parser.add_argument("--seed", type=int, default=random.randrange(2**32), help="of the load (a new one each time)")
    options = parser.parse_args(arguments)
    return run(partial(_play, options.only, options.seed))


def _play(only: Sequence[str] | None, seed: int) -> int:
    """Play all rounds, or only the named ones; returns 1 if anything was wrong."""
    say_on_terminal(f"Seed {seed}")
    rng, outcomes = random.Random(seed), []
    chosen = [fault for fault in FAULTS if only is None or fault.name in only]
    if chosen:
        with scene(say_on_terminal) as ready:
            for fault in chosen:
                say_on_terminal(f"{fault.name}: {fault.what}")
                outcomes.append(play(ready, fault, rng))
                say_on_terminal(told(outcomes[-1]))
    crews = [_play_workers()] if only is None or WORKERS in only else []
    print(json.dumps(report(outcomes, crews)), flush=True)
    return 1 if any(outcome.wrong for outcome in outcomes) or any(crew.wrong for crew in crews) else 0


def _play_workers() -> fleet.Outcome:
    say_on_terminal(f"{WORKERS}: one is killed, one stands still, and the api dies while they claim")
    with tempfile.TemporaryDirectory() as folder, server(Screen()) as ready:
        outcome = fleet.play(ready, Path(folder), say_on_terminal)
    line = f"  {len(outcome.ended)} jobs, {outcome.strikes} strikes, {outcome.taken_over} went on elsewhere"
    say_on_terminal("\n".join([line, *(f"  WRONG: {fault}" for fault in outcome.wrong)]))
    return outcome


def told(outcome: Outcome) -> str:
    """One round in a line, and a line for each thing that is wrong."""
    seen = outcome.audit
    line = (
        f"  {seen.occurrences} occurrences, {seen.attempts} attempts, {outcome.strikes} strikes,"
        f" {outcome.repeats} requests repeated; lost {len(seen.lost)}, early {len(seen.early)}, twice {seen.repeated};"
        f" late p50 {seen.late_ms(0.5)} p99 {seen.late_ms(0.99)} max {seen.late_ms(1)} ms; {outcome.seconds:.0f} s"
    )
    return "\n".join([line, *(f"  WRONG: {fault}" for fault in outcome.wrong)])


def report(outcomes: Sequence[Outcome], crews: Sequence[fleet.Outcome] = ()) -> dict[str, Any]:
    """The JSON object that is printed at the end. `crews`: the outcomes of rounds among workers."""
    wrong = [f"{outcome.fault.name}: {sentence}" for outcome in outcomes for sentence in outcome.wrong]
    return {
        "kinds": {outcome.fault.name: outcome.as_json() for outcome in outcomes},
        "occurrences": sum(outcome.audit.occurrences for outcome in outcomes),
        "lost": sum(len(outcome.audit.lost) for outcome in outcomes),
        "early": sum(len(outcome.audit.early) for outcome in outcomes),
        "duplicates": sum(outcome.audit.repeated for outcome in outcomes),
        "workers": [{"jobs": len(one.ended), "strikes": one.strikes, "takenOver": one.taken_over} for one in crews],
        "wrong": [*wrong, *(f"{WORKERS}: {sentence}" for one in crews for sentence in one.wrong)],
    }


if __name__ == "__main__":
    sys.exit(main())
