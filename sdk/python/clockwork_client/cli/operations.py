"""`clockwork operation`: begin, list, get, watch, stop. The deployment carries operations out, not this program."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, get_args

import click

from clockwork_client.cli import completing, show, values
from clockwork_client.cli.near import Group
from clockwork_client.cli.tables import Column
from clockwork_client.cli.waiting import watched
from clockwork_client.operations import Kind

if TYPE_CHECKING:
    from clockwork_client.cli.state import State
    from clockwork_client.operations import Operation


@click.group(cls=Group)
def operation() -> None:
    """Changes of many jobs or dead executions: begin, list, get, watch, stop."""


@operation.command()
@click.argument("kind", type=click.Choice(get_args(Kind)))
@click.option("--prefix", shell_complete=completing.key, help="Of the job's key.")
@click.option("--tag", help="Of jobs: NAME, or NAME=VALUE.")
@click.option("--from", "from_", type=values.INSTANT, help="Of dead executions: due at this instant or later.")
@click.option("--to", type=values.INSTANT, help="Of dead executions: due at this instant or earlier.")
@click.option("--paused-reason", help="Of resumeJobs: only what was paused for this reason.")
@click.option("--waiting", type=click.Choice(["keep", "cancel"]), help="Of a pause or resume: what was due and waits.")
@click.option("--max-per-second", type=click.FloatRange(0.1, 1_000), help="So many items a second at the most (200).")
@click.option("--reason", help="Shown in the trail.")
@click.option("--idempotency-key", help="The same key within 24 hours: the same operation.")
@click.pass_obj
def begin(state: State, /, kind: Any, **given: Any) -> None:
    """Begin an operation, and print it. It goes on without this program."""
    _show(state, state.cw.operations.begin(kind, **given))


@operation.command("list")
@click.option("--limit", type=click.IntRange(1, 1_000), default=20, help="At most so many (20).")
@watched
@click.pass_obj
def list_(state: State, limit: int) -> None:
    """List operations, the newest first."""
    found = state.cw.operations.list(page_size=limit).page()
    if state.is_json:
        show.give_each(state, found)
        return
    columns = ("operation", "kind", Column("state", is_state=True), "changed", "found", Column("begun", rank=1))
    show.table(state, columns, [[one.operation_id, one.kind, one.state, f"{one.changed:,}", f"{one.matched:,}",
                                 show.at(state, one.made_at)] for one in found])  # fmt: skip


@operation.command()
@click.argument("operation_id")
@click.pass_obj
def get(state: State, operation_id: str) -> None:
    """Show how far an operation is."""
    _show(state, state.cw.operations.get(operation_id))


@operation.command()
@click.argument("operation_id")
@click.option("--every", type=click.FloatRange(0.5), default=5.0, help="Seconds between looks (5).")
@click.pass_obj
def watch(state: State, operation_id: str, every: float) -> None:
    """Print progress until an operation is over. Exit status 1 unless it is DONE."""
    while not (found := state.cw.operations.get(operation_id)).is_over:
        show.said(f"{found.state}: {found.matched:,} found, {found.changed:,} changed")
        time.sleep(every)
    _show(state, found)
    if found.state != "DONE":
        raise SystemExit(1)


@operation.command()
@click.argument("operation_id")
@click.option("--reason", help="Shown in the trail.")
@click.pass_obj
def stop(state: State, operation_id: str, reason: str | None) -> None:
    """Stop an operation: at once, or behind the call of up to 100 items that is under way."""
    _show(state, state.cw.operations.stop(operation_id, reason=reason))


def _show(state: State, found: Operation) -> None:
    if state.is_json:
        show.give(state, found.raw)
        return
    filter_ = ", ".join(f"{name} {value}" for name, value in found.filter.raw.items())
    uncertain = found.uncertain_calls and f"of {found.uncertain_calls} calls: each may have changed up to 100 more"
    show.facts(
        state,
        [
            ("operation", found.operation_id),
            ("kind", found.kind),
            ("filter", filter_ or "all"),
            ("state", found.state),
            ("found", found.matched),
            ("changed", found.changed),
            ("passed", found.passed or None),
            ("uncertain", uncertain),
            ("begun", show.when(found.made_at, state.now)),
            ("by", found.made_by),
            ("stopped by", found.stopped_by),
            ("ended", show.when(found.ended_at, state.now)),
            ("waits until", show.when(found.waits_until, state.now)),
            ("because", found.fault),
        ],
    )
    if found.passed_items:
        show.table(
            state,
            (Column("passed", least=12), Column("reason", least=20)),
            [[one.item, one.reason] for one in found.passed_items],
        )
