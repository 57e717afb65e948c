"""`clockwork pools`: the pools of workers, their waiting and running jobs, and their workers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from clockwork_client.cli import completing, show
from clockwork_client.cli.near import Group
from clockwork_client.cli.tables import Column
from clockwork_client.cli.waiting import watched
from clockwork_client.worker.draws import is_priority

if TYPE_CHECKING:
    from clockwork_client.cli.state import State


@click.group(cls=Group)
def pools() -> None:
    """Pools of workers: list, show, running."""


@pools.command("list")
@click.pass_obj
def list_(state: State) -> None:
    """List all pools of the deployment (admins)."""
    found = state.cw.pools.list()
    if state.is_json:
        show.give(state, [one.raw for one in found])
        return
    rows = [
        [one.name, ", ".join(filter(is_priority, one.queue_urls)), f"{one.lease_seconds} s", ", ".join(one.handlers)]
        for one in found
    ]
    show.table(state, ("pool", "priorities", "lease", Column("handlers", least=20)), rows)


@pools.command("show")
@click.argument("name", shell_complete=completing.pool)
@click.pass_obj
def show_(state: State, name: str) -> None:
    """Show the waiting jobs of a pool (admins, and its workers), its running jobs, and its workers (admins)."""
    found = state.cw.pools.get(name)
    if state.is_json:
        show.give(state, found.raw)
        return
    waiting = ", ".join(f"{one.tickets} {one.priority}" for one in found.waiting or ())
    delayed = sum(one.delayed for one in found.waiting or ())
    show.said(f"About {waiting or 'an unknown number of'} jobs wait.")
    if delayed:
        show.said(f"About {delayed} more are not due yet, or put off: no worker had their handler, or by a limit.")
    if found.running is None or found.workers is None:
        show.said(
            "Nothing is known of attempts and workers: only admins see them, and only while the API can read them."
        )
        return
    show.said(f"{found.running} attempts run.")
    rows = [
        [one.worker_id, show.at(state, one.seen_at), str(one.running),
         "" if one.started_late_ms is None else f"{one.started_late_ms / 1000:.1f} s"]
        for one in found.workers
    ]  # fmt: skip
    show.table(state, (Column("worker", least=16), "noted", "in progress", "claimed late"), rows)


@pools.command()
@click.argument("name", shell_complete=completing.pool)
@click.option("--limit", type=click.IntRange(1, 1_000), default=100, help="At most so many (100).")
@watched
@click.pass_obj
def running(state: State, name: str, limit: int) -> None:
    """List the attempts that the workers of a pool run (admins)."""
    found = state.cw.pools.running(name, limit=limit)
    if state.is_json:
        show.give(state, [one.raw for one in found])
        return
    rows = [
        [one.worker_id or "", "" if one.progress is None else f"{one.progress:.0%}", one.message or "",
         show.at(state, one.lease_until), str(one.attempt), one.execution_id]
        for one in found
    ]  # fmt: skip
    show.table(state, (Column("worker", least=12), "done", Column("says", least=12), "lease until",
                       Column("attempt", rank=1), Column("execution", rank=2)), rows)  # fmt: skip
    if found.more:
        show.said(f"There are more than these {len(found)}: --limit takes up to 1000.")
