"""The pages of admins: pools of workers, clients, and shards of the timeline."""

from __future__ import annotations

from typing import TypeVar

from clockwork_client.console.context import Asked, Broken, Context, NoSuchPage, Page
from clockwork_client.console.problems import Problem
from clockwork_client.console.reads import Seen
from clockwork_client.overview import Shard

Value = TypeVar("Value")
#: Verb -> the command that does the same, before the id of the client.
COMMANDS = {"pause": "clockwork client pause", "resume": "clockwork client resume"}


def pools(context: Context, asked: Asked) -> Page:  # noqa: ARG001 - as all pages
    """The pools, with what waits and who works there. Raises Broken if they cannot be read."""
    found = _known(context.source.pools())
    return Page("pools.html", "Pools", {"pools": found, "seen": context.source.pools()})


def clients(context: Context, asked: Asked) -> Page:  # noqa: ARG001 - as all pages
    """The clients, with their bounds. Raises Broken if they cannot be read."""
    seen = context.source.all_clients()
    return Page("clients.html", "Clients", {"found": _known(seen), "seen": seen, "can_act": not context.is_read_only})


def shards(context: Context, asked: Asked) -> Page:  # noqa: ARG001 - as all pages
    """The shards, those that lag most first. Raises Broken if they cannot be read."""
    seen = context.source.shards()
    listed: tuple[Shard, ...] = _known(seen)
    found = sorted(
        listed, key=lambda one: (-(one.quarantined or 0), one.status == "left", -(one.lag_ms or 0), one.partition_id)
    )
    used = [one for one in found if one.status == "used"]
    model = {
        "shards": found,
        "seen": seen,
        "used": len(used),
        "leased": sum(one.leased for one in used),
        "most_late": max((one.lag_ms or 0 for one in used), default=0),
        "quarantined": sum(one.quarantined or 0 for one in found),
    }
    return Page("shards.html", "Shards", model)


def confirm(
    context: Context,  # noqa: ARG001 - as all pages
    asked: Asked,
    client_id: str,
    verb: str,
    problem: Problem | None = None,
) -> Page:
    """The question before a client is paused or resumed. Raises NoSuchPage for another verb."""
    if verb not in COMMANDS:
        raise NoSuchPage
    model = {
        "subject": client_id,
        "verb": verb,
        "reason": asked.form.get("reason", ""),
        "problem": problem,
        "command": f"{COMMANDS[verb]} --client {client_id}",
    }
    return Page("confirm_client.html", f"{verb.capitalize()} a client", model, problem.status if problem else 200)


def _known(seen: Seen[Value]) -> Value:
    if seen.value is None:
        assert seen.problem is not None
        raise Broken(seen.problem)
    return seen.value
