"""`clockwork cron`: explain, next. The API computes both; nothing is saved."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from clockwork_client.cli import show
from clockwork_client.cli.near import Group
from clockwork_client.inert import inert
from clockwork_client.requests import ScheduleOptions

if TYPE_CHECKING:
    from clockwork_client.cli.state import State


@click.group(cls=Group)
def cron() -> None:
    """Cron expressions: explain, next."""


@cron.command()
@click.argument("expression")
@click.option("--timezone", help="Europe/Berlin; UTC unless given.")
@click.pass_obj
def explain(state: State, expression: str, timezone: str | None) -> None:
    """Say an expression in a sentence."""
    _preview(state, expression, timezone, 3, is_told=True)


@cron.command("next")
@click.argument("expression")
@click.option("--timezone", help="Europe/Berlin; UTC unless given.")
@click.option("--count", type=click.IntRange(1), default=5, help="So many fires (5).")
@click.pass_obj
def next_(state: State, expression: str, timezone: str | None, count: int) -> None:
    """List the next fires of an expression."""
    _preview(state, expression, timezone, count, is_told=False)


def _preview(state: State, expression: str, timezone: str | None, count: int, *, is_told: bool) -> None:
    schedule: ScheduleOptions = {"cron": expression}
    if timezone is not None:
        schedule["timezone"] = timezone
    found = state.cw.jobs.preview(count=count, **schedule)
    if state.is_json:
        show.give(state, found.raw)
        return
    if is_told:
        click.echo(inert(found.description))
    show.table(
        state, ("there", "here"), [[show.local(state, one.local), show.at(state, one.at)] for one in found.next_fires]
    )
