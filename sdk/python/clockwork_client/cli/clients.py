"""`clockwork client`: list, get, usage, activity, put, pause, resume, delete."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from clockwork_client import results
from clockwork_client.answers import camel
from clockwork_client.cli import completing, show, values
from clockwork_client.cli.near import Group
from clockwork_client.cli.options import options
from clockwork_client.cli.tables import Column
from clockwork_client.inert import inert
from clockwork_client.overview import Counted

if TYPE_CHECKING:
    from clockwork_client.cli.state import State

_COUNTED = ("started", "succeeded", "failed", "dead", "skipped", "expired", "cancelled")
_MANY = {"multiple": True}
CLIENT: list[tuple[str, str, dict[str, Any]]] = [
    ("principals", "--principal", {**_MANY, "help": "The ARN of an IAM user or role that may act for it; repeatable."}),
    ("record", "--record", {"type": click.Choice(["none", "full"])}),
    ("signing_secrets", "--signing-secret", {**_MANY, "help": "The name of a secret; repeatable."}),
    ("allowed_queue_arns", "--allow-queue", {**_MANY, "metavar": "ARN"}),
    ("allowed_topics", "--allow-topic", {**_MANY, "metavar": "TOPIC"}),
    ("allowed_private_targets", "--allow-private", {**_MANY, "metavar": "HOST:PORT"}),
    ("allowed_target_hosts", "--allow-host", {**_MANY, "metavar": "HOST"}),
    ("allowed_target_arns", "--allow-arn", {**_MANY, "metavar": "ARN"}),
    ("allowed_pools", "--allow-pool", {**_MANY, "metavar": "POOL"}),
    ("retry", "--retry", {"type": values.JSON, "help": "Of jobs that have no retry policy of their own."}),
    ("relevancy_window_seconds", "--relevancy-window", {"type": values.DURATION}),
    ("precision", "--precision", {"type": click.Choice(["millisecond", "second"]), "help": "Of jobs that name none."}),
    ("max_rate_per_second", "--max-rate", {"type": float, "help": "Deliveries a second."}),
    ("max_concurrency", "--max-concurrency", {"type": int, "help": "Deliveries at once."}),
    ("creates_per_second", "--creates-per-second", {"type": float}),
    ("jobs_per_day", "--jobs-per-day", {"type": int}),
    ("min_interval_seconds", "--min-interval", {"type": values.DURATION, "help": "Of its recurring jobs."}),
    ("retention_days", "--retention-days", {"type": int}),
    ("dead_letter_queue_arn", "--dead-letter-queue", {"metavar": "ARN"}),
    ("runs_index", "--runs-index", {"is_flag": True, "default": None, "help": "List all its executions as they end."}),
]


@click.group(cls=Group)
def client() -> None:
    """Clients, their principals and their bounds: list, get, usage, activity, put, pause, resume, delete."""


@client.command("list")
@click.pass_obj
def list_(state: State) -> None:
    """List all clients (admins)."""
    found = state.cw.clients.list()
    if state.is_json:
        show.give_each(state, found)
        return
    rows = [[one.client_id, one.state, ", ".join(one.principals), one.reason or ""] for one in found]
    columns = ("client", Column("state", is_state=True), Column("principals", least=16), Column("reason", least=12))
    show.table(state, columns, rows)


@client.command()
@click.argument("client_id", required=False, shell_complete=completing.client)
@click.pass_obj
def usage(state: State, client_id: str | None) -> None:
    """Show a client's waiting work, and the rest of its caps."""
    found, now = state.cw.clients.usage(client_id), state.now
    if state.is_json:
        show.give(state, found.raw)
        return
    show.facts(
        state,
        [
            ("client", found.client_id),
            ("paused", "yes" if found.paused else "no"),
            ("parked", _counted(found.parked)),
            ("dead", _counted(found.dead)),
            ("open circuits", ", ".join(f"{one.host} {show.when(one.opened_at, now)}" for one in found.open_circuits)),
            ("released until", show.when(found.released_until, now)),
            ("reads refused", found.reads.refused or None),
            ("deliveries a second", found.max_rate_per_second),
            ("deliveries at once", found.max_concurrency),
            ("creates a second", found.creates_per_second),
            ("jobs left today (UTC)", found.jobs_left_today),
        ],
    )


@client.command()
@click.argument("client_id", required=False, shell_complete=completing.client)
@click.option("--from", "from_", type=values.INSTANT, help="An hour before --to, unless given.")
@click.option("--to", type=values.INSTANT, help="Now, unless given.")
@click.option("--step", type=click.IntRange(60, 3_600), default=60, help="Seconds of a row, in whole minutes (60).")
@click.pass_obj
def activity(state: State, /, client_id: str | None, **which: Any) -> None:
    """Show how many executions started and ended, minute by minute, and how late."""
    found = state.cw.clients.activity(client_id=client_id, **which)
    if state.is_json:
        show.give(state, found.raw)
        return
    rows = [[show.at(state, one.at), *(str(getattr(one, name)) for name in _COUNTED), show.ms(one.p50_ms),
             show.ms(one.p99_ms)] for one in found.items]  # fmt: skip
    counted = [Column(name, rank=rank) for rank, name in enumerate(_COUNTED)]
    show.table(state, ("minute", *counted, "half within", "99 % within"), rows)
    since = show.at(state, found.complete_from)
    show.said(f"Approximate, from {since} on: each Lambda environment notes its counts about once a minute.")


def _counted(found: Counted) -> str:
    return f"{found.count} or more" if found.more else str(found.count)


@client.command()
@click.argument("client_id", required=False, shell_complete=completing.client)
@click.pass_obj
def get(state: State, client_id: str | None) -> None:
    """Show a client."""
    _show(state, state.cw.clients.get(client_id))


@client.command()
@click.argument("client_id", required=False, shell_complete=completing.client)
@click.option("--body", type=values.JSON, help="The whole client in the API's names, in place of the options.")
@click.option("--if-revision", type=int, help="Only if the client is still at this revision.")
@options(CLIENT)
@click.pass_obj
def put(state: State, /, client_id: str | None, body: Any, if_revision: int | None, **given: Any) -> None:
    """Create a client, or replace the whole client: an option that is left out gets its default (admins)."""
    found = {name: value for name, value in given.items() if value not in (None, ())}
    if body is not None and found:
        raise click.UsageError("either --body or the other options")
    if body is not None:
        if not isinstance(body.value, dict):
            raise click.UsageError("--body is a JSON object")
        names: dict[str, str] = {camel(name): name for name, _, _ in CLIENT}
        names["retryPolicy"] = "retry"
        found = {str(names.get(name, name)): one for name, one in body.value.items()}
    if "retry" in found:
        retry = found["retry"]
        given_retry = retry if isinstance(retry, values.Given) else values.Given(retry)
        found["retry"] = results.RetryPolicy(values.object_of("the retry policy", given_retry))
    try:
        written = state.cw.clients.put(client_id, if_revision=if_revision, **found)
    except TypeError as error:
        raise click.UsageError(str(error)) from None
    _show(state, written)


#: Told of each pause, on the standard error stream.
_ENDS_DEAD = "Work that stays parked for 14 days ends DEAD. Its client can redrive it after the resume."


@client.command()
@click.argument("client_id", required=False, shell_complete=completing.client)
@click.option("--reason", help="Why, for others to read.")
@click.option("--if-revision", type=int, help="Only if the client is still at this revision.")
@click.pass_obj
def pause(state: State, client_id: str | None, reason: str | None, if_revision: int | None) -> None:
    """Park the work of a client as it comes due (admins).

    Nothing stays parked for longer than 14 days.
    """
    _show(state, state.cw.clients.pause(client_id, reason=reason, if_revision=if_revision))
    click.echo(_ENDS_DEAD, err=True)


@client.command()
@click.argument("client_id", required=False, shell_complete=completing.client)
@click.option("--reason", help="Why, for others to read.")
@click.option("--if-revision", type=int, help="Only if the client is still at this revision.")
@click.pass_obj
def resume(state: State, client_id: str | None, reason: str | None, if_revision: int | None) -> None:
    """End a pause (admins)."""
    _show(state, state.cw.clients.resume(client_id, reason=reason, if_revision=if_revision))


@client.command()
@click.argument("client_id", shell_complete=completing.client)
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@click.option("--if-revision", type=int, help="Only if the client is still at this revision.")
@click.pass_obj
def delete(state: State, client_id: str, yes: bool, if_revision: int | None) -> None:
    """Delete a client with all its jobs, within minutes (admins). There is no way back."""
    if not yes:
        if not show.can_ask():
            raise click.UsageError("nobody is there to ask: --yes does it without a question")
        if not click.confirm(f"Delete {inert(client_id)} with all its jobs?", err=True):
            return
    _show(state, state.cw.clients.delete(client_id, if_revision=if_revision))


def _show(state: State, found: results.Client) -> None:
    if state.is_json:
        show.give(state, found.raw)
    else:
        show.facts(state, found.raw.items())
