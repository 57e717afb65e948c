"""`clockwork upcoming`, `clockwork audit`, `clockwork shards`, `clockwork whoami`: the present state."""

from __future__ import annotations

from datetime import timedelta
from itertools import islice
from typing import TYPE_CHECKING

import click

from clockwork_client.cli import completing, show, values
from clockwork_client.cli.names import id_of
from clockwork_client.cli.tables import Column
from clockwork_client.cli.waiting import watched
from clockwork_client.overview import AuditEntry

if TYPE_CHECKING:
    from clockwork_client.cli.state import State


@click.command()
@click.option("--from", "from_", type=values.INSTANT, help="Now unless given.")
@click.option("--to", type=values.INSTANT, help="24 hours later unless given.")
@click.option("--within", type=values.DURATION, help="From now on, in place of --from and --to: 90m, 7d.")
@click.option("--limit", type=click.IntRange(1), default=100, help="At most so many (100).")
@watched
@click.pass_obj
def upcoming(state: State, from_: str | None, to: str | None, within: float | None, limit: int) -> None:
    """List the client's jobs that are about to start, anonymous ones included.

    A recurring job shows its next fire only.
    """
    if within is not None:
        if from_ is not None or to is not None:
            raise click.UsageError("either --within or --from and --to")
        try:
            to = (state.now + timedelta(seconds=within)).isoformat()
        except OverflowError:
            raise click.UsageError("--within reaches too far") from None
    pages = state.cw.upcoming(from_=from_, to=to, page_size=min(limit, 1_000))
    if state.is_json:
        show.give_each(state, islice(pages, limit))
        return
    columns = ("starts", Column("key", least=20), "what", Column("target", least=20, rank=1), Column("job", rank=2))
    show.table(state, columns, [
        [show.at(state, one.at), one.job_key or "one-off", _what(one.recurs, one.attempt, one.waits_for),
         show.place(one.target), one.job_id if state.is_wide or one.job_key is None else ""]
        for one in islice(pages, limit)
    ])  # fmt: skip
    if next(pages, None) is not None:
        show.said(f"The first {limit}: there are more. Choose --limit or --to.")


def _what(recurs: bool | None, attempt: int | None, waits_for: str | None) -> str:
    if waits_for is not None:
        return f"waits for {waits_for}"
    if attempt is not None and attempt > 1:
        return f"attempt {attempt}"
    return "recurs" if recurs else "once"


@click.command()
@click.option("--job", "--job-id", "job_id", shell_complete=completing.key, help="Of this job alone: its key or id.")
@click.option("--limit", type=click.IntRange(1), default=100, help="At most so many (100).")
@click.pass_obj
def audit(state: State, job_id: str | None, limit: int) -> None:
    """List the changes of the client, with author, time and reason.

    The newest first. Creates are not listed.
    """
    pages = state.cw.audit(job_id=job_id and id_of(state, job_id), page_size=min(limit, 1_000))
    if state.is_json:
        show.give_each(state, islice(pages, limit))
        return
    columns = ("when", Column("who", least=10, rank=1), "what", Column("of", least=12),
               Column("details", least=12, rank=2), Column("why", least=12))  # fmt: skip
    show.table(state, columns, [
        [show.at(state, one.at), one.principal if state.is_wide else one.principal.rpartition(":")[2], one.action,
         one.execution_id or one.job_key or one.job_id or "",
         _details(one), f"refused: {one.refused}" if one.refused else one.reason or ""]
        for one in islice(pages, limit)
    ])  # fmt: skip
    if next(pages, None) is not None:
        show.said(f"The newest {limit}: there are more. Choose --limit.")


def _details(one: AuditEntry) -> str:
    asked = [f"{name}={value}" for name, value in (one.asked or {}).items()]
    return " ".join([*asked, *(one.changes or ())])


@click.command()
@watched
@click.pass_obj
def shards(state: State) -> None:
    """Show the state of each shard of the timeline (admins)."""
    found, waiting = state.cw.shards(), None if state.is_json else state.cw.backlog()
    if state.is_json:
        show.give(state, [one.raw for one in found])
        return
    columns = ("shard", "status", "poller", "lag", "released up to", Column("last visit", rank=1), "quarantine")
    show.table(state, columns, [
        [one.partition_id, one.status, "at work" if one.leased else "", _seconds(one.lag_ms),
         show.at(state, one.horizon_at), "" if one.last_released is None else str(one.last_released),
         str(one.quarantined or "")]
        for one in found
    ])  # fmt: skip
    if waiting is not None:
        show.said(f"About {waiting:,} due messages wait in the fullest release queue.")


def _seconds(ms: int | None) -> str:
    return "" if ms is None else f"{ms / 1000:.1f} s"


@click.command()
@click.pass_obj
def whoami(state: State) -> None:
    """Show the caller's principal, and the clients that it may act for."""
    found = state.cw.whoami()
    if state.is_json:
        show.give(state, found.raw)
        return
    clients = "every client" if found.admin else ", ".join(found.client_ids) or "none"
    show.facts(
        state, [("principal", found.principal), ("may act for", clients), ("admin", "yes" if found.admin else "no")]
    )
