"""`clockwork run`: nodes, graph, watch, cancel, redrive. A run is an execution of a job whose target is a workflow."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from clockwork_client.cli import show
from clockwork_client.cli.names import execution_of
from clockwork_client.cli.near import Group
from clockwork_client.cli.options import one_execution
from clockwork_client.cli.shown_execution import show_cancel, show_execution
from clockwork_client.cli.tables import Column
from clockwork_client.cli.waiting import awaited, wait_for

if TYPE_CHECKING:
    from clockwork_client.cli.state import State
    from clockwork_client.workflows.answers import Node


@click.group(cls=Group)
def run() -> None:
    """Runs of workflows: nodes, graph, watch, cancel, redrive."""


@run.command()
@one_execution
@click.pass_obj
def nodes(state: State, execution_id: str) -> None:
    """List the nodes of a run with their states."""
    found = state.cw.runs.nodes(execution_of(state, execution_id))
    if state.is_json:
        show.give(state, found.raw)
        return
    rows = [[one.name, one.state, ", ".join(one.after), _said(one), one.execution_id or ""] for one in found.items]
    show.table(
        state,
        (
            "node",
            Column("state", is_state=True),
            Column("after", least=8, rank=1),
            Column("last word", least=12),
            Column("execution", rank=2),
        ),
        rows,
    )


@run.command()
@one_execution
@click.pass_obj
def graph(state: State, execution_id: str) -> None:
    """Print the nodes of a run and their states as a flowchart of mermaid."""
    click.echo(state.cw.runs.mermaid(execution_of(state, execution_id)), nl=False)


@run.command()
@one_execution
@click.option("--every", type=click.FloatRange(0.5), default=2.0, help="Seconds between looks (2).")
@click.pass_obj
def watch(state: State, execution_id: str, every: float) -> None:
    """Print each change of a node until the run has ended. Exit status 1 unless it has succeeded."""
    execution_id = execution_of(state, execution_id)
    before: dict[str, tuple[str, int]] = {}
    for found in state.cw.runs.watch(execution_id, every=every):
        changed = [one for one in found.items if before.get(one.name) != (one.state, one.generation)]
        before = {one.name: (one.state, one.generation) for one in found.items}
        if state.is_json:
            show.give(state, found.raw)
        else:
            show.lines(f"{one.name}  {one.state}  {_said(one)}".rstrip() for one in changed)
    ended = state.cw.runs.get(execution_id)
    show.said(f"The run has ended: {ended.state}. {ended.reason or ''}".rstrip())
    if ended.state != "SUCCEEDED":
        raise SystemExit(1)


@run.command()
@one_execution
@click.pass_obj
def cancel(state: State, execution_id: str) -> None:
    """Cancel a run with its nodes. Exit status 1 if the cancel came too late."""
    show_cancel(state, state.cw.runs.cancel(execution_of(state, execution_id)))


@run.command()
@one_execution
@click.option("--from", "from_", metavar="NODE", multiple=True, help="This node as well; repeatable.")
@awaited
@click.pass_obj
def redrive(state: State, execution_id: str, from_: tuple[str, ...], wait: float | None) -> None:
    """Let the failed nodes of a DEAD run start again, with all that comes after them."""
    which = execution_of(state, execution_id)
    begun = state.cw.runs.redrive(which, from_=from_ or None)
    if wait is None:
        show_execution(state, begun)
    else:
        wait_for(state, lambda: state.cw.runs.get(which), wait)


def _said(node: Node) -> str:
    return node.last_error or (f"because of {node.because}" if node.because else "")
