"""`clockwork workflow`: check, graph. Both read a file, and ask nobody."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from clockwork_client.cli import show
from clockwork_client.cli.near import Group

if TYPE_CHECKING:
    from clockwork_client.answers import Target
    from clockwork_client.cli.state import State


class File(click.ParamType):  # type: ignore[type-arg]
    """The name of a JSON file with a workflow as the API takes it, or `-` for standard input."""

    name = "file"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Read it, or fail with the place of the fault."""
        try:
            with click.open_file(str(value), encoding="utf-8") as file:
                found = json.loads(file.read())
        except OSError as error:
            self.fail(f"cannot read {value!r}: {error.strerror}", param, ctx)
        except RecursionError:
            self.fail("is nested too deeply", param, ctx)
        except ValueError as error:
            self.fail(f"{value!r} is no JSON ({error})", param, ctx)
        if not isinstance(found, dict):
            self.fail(f'{value!r} is no workflow: {{"type": "workflow", "nodes": {{...}}}}', param, ctx)
        return found


FILE = File()


def target_of(raw: dict[str, Any]) -> Target:
    """The target in a file, for a job."""
    from clockwork_client.answers import Target

    return Target({"type": "workflow", **raw})


@click.group(cls=Group)
def workflow() -> None:
    """Files with workflows: check, graph."""


@workflow.command()
@click.argument("file", type=FILE)
@click.pass_obj
def check(state: State, file: dict[str, Any]) -> None:
    """Find the faults of a workflow without the API. Exit status 1 if there are any.

    Only the API judges the addresses of targets, and whether the client's lists have them.
    """
    from clockwork_client.workflows.check import check

    check(file)
    nodes = len(file["nodes"])
    if state.is_json:
        show.give(state, {"nodes": nodes})
    else:
        show.said(f"No fault in {nodes} nodes.")


@workflow.command()
@click.argument("file", type=FILE)
def graph(file: dict[str, Any]) -> None:
    """Print a workflow as a flowchart of mermaid."""
    from clockwork_client.workflows.check import check
    from clockwork_client.workflows.mermaid import mermaid
    from clockwork_client.workflows.workflow import drawn_of

    check(file)
    click.echo(mermaid(drawn_of(file)), nl=False)
