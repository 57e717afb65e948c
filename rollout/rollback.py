"""Goes back to the versions of the Lambdas from before the last deployment, or forward to the newest again.

Only aliases are moved, so a rollback takes seconds. A Lambda that the last deployment did not change keeps its alias,
since the alias names a version from before that deployment. A second call therefore finds nothing to do.

A version that was rolled back is no place to go back to: an alias has the numbers of such versions in its description.
FORWARD=1 takes the newest off that list. The template gives aliases no description. If a deployment nevertheless clears
it, the way back leads to the version of before, whatever became of that.

How it fails. If the call dies between two aliases, a repeat moves the rest. If somebody has deleted an earlier version,
the command says so before it moves anything. If a deployment runs, nothing is moved, since CloudFormation is moving the
same aliases.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from clockwork.settings import LIVE
from rollout.live import Live

Say = Callable[[str], None]
#: The beginning of an alias's description, and the most versions behind it.
_ROLLED_BACK, _MOST_LEFT = "Rolled back:", 20
NEXT = """Go back in the repository, too: the next deployment that changes a Lambda moves its alias again. One of the
very same code moves none; `make rollback FORWARD=1` does."""


class NotRolledBack(Exception):
    """Nothing was changed; the message says why."""


@dataclass(frozen=True)
class Move:
    """An alias that is to name another version."""

    function: str
    live: int
    to: int
    #: The versions that were rolled back, this one among them.
    left: frozenset[int]


def rollback(live: Live, say: Say, *, forward: bool = False) -> None:
    """Move the alias of each Lambda that the last deployment changed. Raises NotRolledBack."""
    status = live.account.status(live.name)
    if not status.endswith("_COMPLETE"):
        raise NotRolledBack(f"the stack is {status}: wait until CloudFormation has come to an end")
    deployed_at = live.deployed_at
    found = [move for function in live.functions if (move := _move(live, function, deployed_at, forward=forward))]
    if not found:
        done = "is of its newest version" if forward else "is of a version from before the last deployment"
        say(f"Nothing to do: every Lambda {done} ({deployed_at:%Y-%m-%d %H:%M:%S} UTC).")
        return
    if not forward:
        say("A version that raised the format of what is stored cannot be rolled back: the changelog says of which.")
    for move in found:
        live.account.client("lambda").update_alias(
            FunctionName=move.function, Name=LIVE, FunctionVersion=str(move.to), Description=_described(move.left)
        )
        say(f"{move.function}: version {move.to}, was {move.live}")
    if not forward:
        say(NEXT)


def _move(live: Live, function: str, deployed_at: datetime, *, forward: bool) -> Move | None:
    client = live.account.client("lambda")
    pages = client.get_paginator("list_versions_by_function").paginate(FunctionName=function)
    made = {int(one["Version"]): one["LastModified"] for page in pages for one in page["Versions"] if _counts(one)}
    alias = client.get_alias(FunctionName=function, Name=LIVE)
    now, left = int(alias["FunctionVersion"]), _left(alias.get("Description", ""))
    if forward:
        newest = max(made)
        return Move(function, now, newest, left - {newest}) if newest > now else None
    if now not in made or datetime.fromisoformat(made[now]) < deployed_at:
        return None
    earlier = [version for version in made if version < now and version not in left]
    if not earlier:
        raise NotRolledBack(f"{function} has no version from before the last deployment: nothing was changed")
    return Move(function, now, max(earlier), left | {now})


def _described(left: frozenset[int]) -> str:
    """The description of an alias: the newest of the versions that were rolled back. It has at most 256 characters."""
    return " ".join([_ROLLED_BACK, *map(str, sorted(left)[-_MOST_LEFT:])]) if left else ""


def _left(description: str) -> frozenset[int]:
    told = description.removeprefix(_ROLLED_BACK)
    return frozenset(int(one) for one in told.split() if one.isdecimal()) if told != description else frozenset()


def _counts(version: dict[str, str]) -> bool:
    return version["Version"] != "$LATEST"
