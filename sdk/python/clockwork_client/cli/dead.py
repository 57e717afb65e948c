"""`clockwork dead`: list, causes, redrive, discard. The last two count first, ask, and can go on after a stop."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING, Any

import click

from clockwork_client.cli import many, show, values
from clockwork_client.cli.options import Command
from clockwork_client.handled import HandledDead

if TYPE_CHECKING:
    from clockwork_client.cli.state import State


@click.group()
def dead() -> None:
    """DEAD executions of a client: list, causes, redrive, discard."""


@dead.command("list")
@click.option("--prefix", help="Of the job's key.")
@click.option("--from", "from_", type=values.INSTANT, help="Due at this instant or later.")
@click.option("--to", type=values.INSTANT, help="Due at this instant or earlier.")
@click.option("--limit", type=click.IntRange(1), default=100, help="At most so many (100).")
@click.pass_obj
def list_(state: State, prefix: str | None, from_: datetime | None, to: datetime | None, limit: int) -> None:
    """List dead executions, those that were due last first."""
    found = state.cw.dead.list(prefix=prefix, from_=from_, to=to, page_size=min(limit, 1_000))
    pages = islice(found, limit)
    if state.is_json:
        show.each_as_json(pages)
    else:
        show.table(show.EXECUTION_HEADS, [show.execution_row(one, state.now) for one in pages])


@dead.command()
@click.option("--retrying", is_flag=True, help="Only those that have failed and are tried again.")
@click.option("--prefix", help="Of the job's key.")
@click.option("--limit", type=click.IntRange(1, 1_000), default=1_000, help="Look at so many (1,000).")
@click.pass_obj
def causes(state: State, retrying: bool, prefix: str | None, limit: int) -> None:
    """List the causes of what is dead, or has failed and is tried again."""
    kinds = ("retrying",) if retrying else ("dead", "retrying")
    found = state.cw.clients.attention(kinds=kinds, prefix=prefix, page_size=limit)
    if state.is_json:
        show.as_json(found.raw)
        return
    heads = ("executions", "kind", "job", "cause", "due last")
    show.table(heads, [[f"{one.count:,}", one.kind, one.job_key or "one-off jobs", one.cause or "",
                        show.when(one.last_due_at, state.now)] for one in found.groups])  # fmt: skip
    if found.next_token:
        show.said(f"Of the newest {len(found.items):,}: there are more.")


def which(command: Command) -> Command:
    """A decorator: the options that select dead executions."""
    command = click.option("--next-token", help="Go on where an earlier run was stopped.")(command)
    command = click.option("--yes", "-y", is_flag=True, help="Do not ask.")(command)
    command = click.option("--to", type=values.INSTANT, help="Due at this instant or earlier.")(command)
    command = click.option("--from", "from_", type=values.INSTANT, help="Due at this instant or later.")(command)
    return click.option("--prefix", help="Of the job's key; anonymous jobs have none.")(command)


@dead.command()
@which
@click.pass_obj
def redrive(state: State, /, **given: Any) -> None:
    """Deliver dead executions again, each with a fresh budget of attempts."""
    _handle(state, "Redrive", state.cw.dead.redrive, given)


@dead.command()
@which
@click.pass_obj
def discard(state: State, /, **given: Any) -> None:
    """Discard dead executions."""
    _handle(state, "Discard", state.cw.dead.discard, given)


def _handle(state: State, verb: str, call: Callable[..., HandledDead], given: dict[str, Any]) -> None:
    token, yes = given.pop("next_token"), given.pop("yes")

    def found() -> Any:
        yield from state.cw.dead.list(page_size=1_000, **given)

    if yes or many.is_meant(state, verb, "dead execution", found()):
        many.handle(state, lambda after: call(next_token=after, **given), token)
