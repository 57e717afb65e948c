"""The command line of a deployment, for `make preflight`, `deploy`, `rollback`, `destroy` and `restore`.

    python -m rollout preflight|deploy [-c name=value ...] [--allow-removal NAME ...] [--yes] [--app FOLDER]
    python -m rollout rollback [-c name=value ...] [--forward]
    python -m rollout destroy [-c name=value ...] [--now] [--yes]
    python -m rollout restore [-c name=value ...] [--check] [--at INSTANT] [--back SECONDS]

`rollback` moves the aliases of the Lambdas that the last deployment changed to their earlier versions. With `--forward`
it moves them to the newest versions again.

`restore` prepares the five tables of the option `adopt` that were restored to one instant, before a stack adopts them;
with `--check` it changes nothing. `--at` is that instant, if DynamoDB does not know it. `--back` is the distance (s) by
which cursors go back before the instant (900).

`--app` deploys an assembly that was synthesized before. `--now` does not wait for released jobs. Exit status 1: nothing
was changed, and the table has the reason; or the CDK's command line or a call of AWS failed, and the last line has the
reason.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from clockwork.domain.errors import Unavailable
from clockwork.domain.instants import from_text
from infra import ROOT
from infra.deployment.document import NAME, InvalidDeployment, options_of
from infra.deployment.schema import default_of
from rollout import commands
from rollout.account import Account, NoAccount
from rollout.checks import judge, may_deploy
from rollout.copies import BACK_SECONDS
from rollout.destroy import Protected, destroy
from rollout.live import Live
from rollout.restore import NotRestored, restore
from rollout.rollback import NotRolledBack, rollback
from rollout.stillness import StillBusy


class NoStack(Exception):
    """No stack has the given name, or the name of the environment."""


class AnotherPlace(Exception):
    """The credentials are of another account or region than the options name. Nothing was changed."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit status."""
    asked = _parsed(arguments)
    try:
        if asked.command == "destroy":
            return _destroy(asked)
        if asked.command == "restore":
            return _restore(asked)
        if asked.command == "rollback":
            return _rollback(asked)
        assembly = asked.app or commands.synthesized([text for one in asked.context for text in ("-c", one)])
        if not preflight(Account(), assembly, asked.allow_removal):
            return 1
        if asked.command == "deploy":
            how = ("--require-approval", "never") if asked.yes else ()
            commands.cdk("deploy", "--app", str(assembly), *how)
    except (NoAccount, NoStack, AnotherPlace, Protected, StillBusy, NotRestored, NotRolledBack) as error:
        print(error, file=sys.stderr)
        return 1
    except (InvalidDeployment, commands.Failed, ClientError, BotoCoreError, Unavailable) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def preflight(account: Account, assembly: Path, allowed: Sequence[str]) -> bool:
    """Print the account's checks of an assembly. Returns whether it may be deployed. Raises NoAccount."""
    name, wanted = commands.read(assembly)
    rows = judge(account.facts(name, wanted), wanted, allowed)
    print(f"Preflight of the stack {name}\n\n{commands.table(rows)}\n")
    if not may_deploy(rows):
        print("Nothing was changed. What is refused above stands in the way.")
    return may_deploy(rows)


def _restore(asked: argparse.Namespace) -> int:
    account = Account()
    tables = _options(asked, account, "adopt").get("adopt", {}).get("tables", {})
    at = from_text(asked.at) if asked.at else None
    return 0 if restore(account, tables, print, at=at, back=asked.back, check=asked.check) else 1


def _options(asked: argparse.Namespace, account: Account, needed: str) -> dict[str, Any]:
    """The options of the environment, and in their place those of the command; the file is not read if these suffice.

    Raises AnotherPlace: a stack or table of the same name may be in use elsewhere.
    """
    given: dict[str, Any] = dict(one.partition("=")[::2] for one in asked.context)
    if "adopt" in given:
        given["adopt"] = json.loads(given["adopt"])
    reads = "environment" in given or not given.get(needed)
    options = {**(options_of(ROOT / NAME, given.get("environment", "")) if reads else {}), **given}
    place: dict[str, Callable[[], str]] = {"account": account.number, "region": account.region}
    for option, ask in place.items():
        if options.get(option) and options[option] != (here := ask()):
            raise AnotherPlace(f"Nothing was changed: the {option} is {here}, and the options name {options[option]}.")
    return options


def _named(asked: argparse.Namespace, account: Account) -> tuple[str, str]:
    """The name of the stack that is meant, and its place in words. Raises NoStack without one, and AnotherPlace."""
    name = str(_options(asked, account, "name").get("name") or default_of("name"))
    place = f"the account {account.number()}, {account.region()}"
    if not account.status(name):
        raise NoStack(f"There is no stack {name} in {place}.")
    return name, place


def _rollback(asked: argparse.Namespace) -> int:
    account = Account()
    name, _ = _named(asked, account)
    rollback(Live(account, name), _say, forward=asked.forward)
    return 0


def _say(line: str) -> None:
    print(line, flush=True)


def _destroy(asked: argparse.Namespace) -> int:
    account = Account()
    name, place = _named(asked, account)
    if not asked.yes and input(f"The stack {name} in {place} will be taken away. Its name, to go on: ") != name:
        print("Nothing was changed.")
        return 1
    destroy(Live(account, name), _say, now=asked.now)
    return 0


def _parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m rollout", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("command", choices=("preflight", "deploy", "rollback", "destroy", "restore"))
    parser.add_argument("-c", "--context", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--allow-removal", action="append", default=[], metavar="NAME")
    parser.add_argument("--yes", action="store_true", help="ask nothing, also if permissions become broader")
    parser.add_argument("--now", action="store_true", help="destroy: do not wait for what was released")
    parser.add_argument("--app", type=Path, help="a synthesized assembly")
    parser.add_argument("--forward", action="store_true", help="rollback: to the newest versions again")
    parser.add_argument("--check", action="store_true", help="restore: change nothing")
    parser.add_argument("--at", help="restore: the instant of the tables, as in 2026-05-05T10:00:00Z")
    parser.add_argument(
        "--back", type=int, default=BACK_SECONDS, metavar="SECONDS", help="restore: cursors go back so far"
    )
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
