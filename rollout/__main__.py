"""The command line of a deployment, for `make preflight` and `make deploy`.

    python -m rollout preflight|deploy [-c name=value ...] [--allow-removal NAME ...] [--yes] [--app FOLDER]

`--app` deploys an assembly that was synthesized before. Exit status 1: nothing was changed, and the table says why; or
the CDK's command line failed, and said why.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from rollout import commands
from rollout.account import Account, NoAccount
from rollout.checks import judge, may_deploy


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit status."""
    asked = _parsed(arguments)
    try:
        assembly = asked.app or commands.synthesized([text for one in asked.context for text in ("-c", one)])
        if not preflight(Account(), assembly, asked.allow_removal):
            return 1
        if asked.command == "deploy":
            how = ("--require-approval", "never") if asked.yes else ()
            commands.cdk("deploy", "--app", str(assembly), *how)
    except (NoAccount, commands.Failed) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def preflight(account: Account, assembly: Path, allowed: Sequence[str]) -> bool:
    """Tell what the account says to an assembly; returns whether it may be deployed. Raises NoAccount."""
    name, wanted = commands.read(assembly)
    rows = judge(account.facts(name, wanted), wanted, allowed)
    print(f"Preflight of the stack {name}\n\n{commands.table(rows)}\n")
    if not may_deploy(rows):
        print("Nothing was changed. What is refused above stands in the way.")
    return may_deploy(rows)


def _parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m rollout", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("command", choices=("preflight", "deploy"))
    parser.add_argument("-c", "--context", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--allow-removal", action="append", default=[], metavar="NAME")
    parser.add_argument("--yes", action="store_true", help="ask nothing, also if permissions become broader")
    parser.add_argument("--app", type=Path, help="a synthesized assembly")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
