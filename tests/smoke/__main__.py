"""Smoke: plays every kind of job on a deployed stack of its own, and judges what it sees check by check.

    python -m tests.smoke [--stage account|local] [--yes] [--keep] [--seed N]

`account` deploys a stack of its own name into the account of your credentials, and asks before it does. The smoke takes
a quarter of an hour and less than a dollar. It takes everything away whatever happens, and writes what it measured into
`docs/measured/`. `local` does the same in the emulator of this machine, in a minute; `--keep` writes what it measured.

Progress goes to standard error; the last line of standard output is one JSON object. The exit status is 1 if a check
failed, and 2 if the smoke could not go on.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager
from functools import partial

from local.stack import say_on_terminal
from rollout.account import NoAccount
from rollout.commands import Failed
from tests.chaos.command import run
from tests.smoke.judging.checks import failed, judge, told
from tests.smoke.measured import write
from tests.smoke.places.account import account
from tests.smoke.places.local import local
from tests.smoke.places.place import Place
from tests.smoke.run import play
from tests.smoke.targets.stack import NotMade


def main(arguments: Sequence[str] | None = None) -> int:
    """Parse the command line and run the smoke; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.smoke", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--stage", choices=("account", "local"), default="account")
    parser.add_argument("--yes", action="store_true", help="account: ask nothing")
    parser.add_argument("--keep", action="store_true", help="local: write what was measured, too")
    parser.add_argument("--seed", type=int, default=random.randrange(2**32), help="of the load (a new one each time)")
    options = parser.parse_args(arguments)
    return run(partial(_smoke, options), NotMade, NoAccount, Failed)


def _smoke(options: argparse.Namespace) -> int:
    say_on_terminal(f"Seed {options.seed}")
    with _place(options) as place:
        return judged(place, random.Random(options.seed), keep=options.keep or options.stage == "account")


def _place(options: argparse.Namespace) -> AbstractContextManager[Place]:
    return local() if options.stage == "local" else account(ask=not options.yes)


def judged(place: Place, rng: random.Random, *, keep: bool) -> int:
    """Play the smoke at a place and tell what it says; returns 1 if a check failed."""
    seen = play(place, say_on_terminal, rng)
    checks = judge(seen, place.bounds, place.not_here)
    for name, said in checks.items():
        why = f" ({place.not_here[name]})" if name in place.not_here else ""
        say_on_terminal(f"  {name:26} {said}{why}")
    line = told(place.stage, seen, checks)
    if keep:
        say_on_terminal(f"Written: {write(place.stage, place.region, line, seen)}")
    print(json.dumps(line), flush=True)
    return 1 if failed(checks) else 0


if __name__ == "__main__":
    sys.exit(main())
