"""`clockwork upcoming`, `clockwork audit`, `clockwork shards`, `clockwork whoami`: the present state."""

from __future__ import annotations

from datetime import timedelta
from itertools import islice
from typing import TYPE_CHECKING

import click

from clockwork_client.cli import show, values
from clockwork_client.overview import AuditEntry

if TYPE_CHECKING:
    from clockwork_client.cli.state import State


@click.command()
@click.option("--from", "from_", type=values.INSTANT, help="Now unless given.")
@click.option("--to", type=values.INSTANT, help="24 hours later unless given.")
@click.option("--within", type=values.DURATION, help="From now on, in place of --from and --to: 90m, 7d.")
@click.option("--limit", type=click.IntRange(1), default=100, help="At most so many (100).")
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
        show.each_as_json(islice(pages, limit))
        return
    now = state.now
    rows = [
        [show.when(one.at, now), one.job_key or "", _what(one.recurs, one.attempt, one.waits_for),
         show.target(one.target), one.job_id]
        for one in islice(pages, limit)
    ]  # fmt: skip
    show.table(("starts", "key", "what", "target", "job"), rows)
    if next(pages, None) is not None:
        show.said(f"The first {limit}: there are more. Choose --limit or --to.")


def _what(recurs: bool | None, attempt: int | None, waits_for: str | None) -> str:
    if waits_for is not None:
        return f"waits for {waits_for}"
    if attempt is not None and attempt > 1:
        return f"attempt {attempt}"
    return "recurs" if recurs else "once"


@click.command()
@click.option("--job-id", help="Of this job alone.")
@click.option("--limit", type=click.IntRange(1), default=100, help="At most so many (100).")
@click.pass_obj
def audit(state: State, job_id: str | None, limit: int) -> None:
    """List the changes of the client, with author, time and reason.

    The newest first. Creates are not listed.
    """
    pages = state.cw.audit(job_id=job_id, page_size=min(limit, 1_000))
    if state.is_json:
        show.each_as_json(islice(pages, limit))
        return
    now = state.now
    rows = [
        [show.when(one.at, now), one.principal, one.action, one.execution_id or one.job_key or one.job_id or "",
         _details(one), f"refused: {one.refused}" if one.refused else one.reason or ""]
        for one in islice(pages, limit)
    ]  # fmt: skip
    show.table(("when", "who", "what", "of", "details", "why"), rows)
    if next(pages, None) is not None:
        show.said(f"The newest {limit}: there are more. Choose --limit.")


def _details(one: AuditEntry) -> str:
    asked = [f"{name}={value}" for name, value in (one.asked or {}).items()]
    return " ".join([*asked, *(one.changes or ())])


@click.command()
@click.pass_obj
def shards(state: State) -> None:
    """Show the state of each shard of the timeline (admins)."""
    found, waiting = state.cw.shards(), None if state.is_json else state.cw.backlog()
    if state.is_json:
        show.as_json([one.raw for one in found])
        return
    rows = [
        [one.partition_id, one.status, "at work" if one.leased else "", _seconds(one.lag_ms),
         show.when(one.horizon_at, state.now), "" if one.last_released is None else str(one.last_released),
         str(one.quarantined or "")]
        for one in found
    ]  # fmt: skip
    show.table(("shard", "status", "poller", "lag", "released up to", "last visit", "quarantine"), rows)
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
        show.as_json(found.raw)
        return
    clients = "every client" if found.admin else ", ".join(found.client_ids) or "none"
    show.facts([("principal", found.principal), ("may act for", clients), ("admin", "yes" if found.admin else "no")])
