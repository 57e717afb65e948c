"""`clockwork dead`: list, causes, redrive, discard. The last two count first, ask, and can go on after a stop."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING, Any

import click

from clockwork_client.cli import completing, many, rows, show, values
from clockwork_client.cli.near import Group
from clockwork_client.cli.options import Command
from clockwork_client.cli.tables import Column
from clockwork_client.cli.waiting import watched
from clockwork_client.handled import HandledDead

if TYPE_CHECKING:
    from clockwork_client.cli.state import State


@click.group(cls=Group)
def dead() -> None:
    """DEAD executions of a client: list, causes, redrive, discard."""


@dead.command("list")
@click.option("--prefix", shell_complete=completing.key, help="Of the job's key.")
@click.option("--from", "from_", type=values.INSTANT, help="Due at this instant or later.")
@click.option("--to", type=values.INSTANT, help="Due at this instant or earlier.")
@click.option("--limit", type=click.IntRange(1), default=100, help="At most so many (100).")
@watched
@click.pass_obj
def list_(state: State, prefix: str | None, from_: datetime | None, to: datetime | None, limit: int) -> None:
    """List dead executions, those that were due last first."""
    found = state.cw.dead.list(prefix=prefix, from_=from_, to=to, page_size=min(limit, 1_000))
    pages = islice(found, limit)
    if state.is_json:
        show.give_each(state, pages)
    else:
        show.table(state, rows.EXECUTIONS, [rows.execution(state, one) for one in pages])


@dead.command()
@click.option("--retrying", is_flag=True, help="Only those that have failed and are tried again.")
@click.option("--prefix", shell_complete=completing.key, help="Of the job's key.")
@click.option("--from", "from_", type=values.INSTANT, help="Due at this instant or later.")
@click.option("--to", type=values.INSTANT, help="Due at this instant or earlier.")
@click.option("--pages", type=click.IntRange(1, 1_000), default=10, help="Ask the API so often at most (10).")
@click.option("--next-token", help="Go on behind what an earlier command looked at.")
@click.pass_obj
def causes(state: State, /, retrying: bool, **which: Any) -> None:
    """List the causes of what is dead, or has failed and is tried again."""
    found = state.cw.clients.causes(kinds=("retrying",) if retrying else ("dead", "retrying"), **which)
    if state.is_json:
        groups = [one.raw for one in found.groups]
        show.give(state, {"groups": groups, "lookedAt": found.looked_at, "nextToken": found.next_token})
        return
    columns = ("executions", "kind", Column("job", least=12), Column("cause", least=24), Column("due last", rank=1))
    show.table(state, columns, [[f"{one.count:,}", one.kind, one.job_key or "one-off", one.cause or "",
                                 show.at(state, one.last_due_at)] for one in found.groups])  # fmt: skip
    if found.next_token:
        show.said(f"Of the first {found.looked_at:,}: there are more. Go on with --next-token {found.next_token}")


def which(command: Command) -> Command:
    """A decorator: the options that select dead executions."""
    command = click.option("--next-token", help="Go on where an earlier run was stopped.")(command)
    command = click.option("--yes", "-y", is_flag=True, help="Do not ask.")(command)
    command = click.option("--to", type=values.INSTANT, help="Due at this instant or earlier.")(command)
    command = click.option("--from", "from_", type=values.INSTANT, help="Due at this instant or later.")(command)
    return click.option("--prefix", shell_complete=completing.key, help="Of the job's key; anonymous jobs have none.")(
        command
    )


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

    if yes or many.confirm(state, verb, "dead execution", found()):
        many.handle(state, lambda after: call(next_token=after, **given), token)
