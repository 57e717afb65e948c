"""The run of a workflow: its nodes on the page of its execution, and the question before it is redriven."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from clockwork_client.console import graphs
from clockwork_client.console.context import Asked, Broken, Context, Page
from clockwork_client.results import Execution


def parts(context: Context, one: Execution) -> Mapping[str, Any]:
    """The nodes and their picture, for the page of an execution that is a run."""
    if one.run is None:
        return {"nodes": None, "graph": None}
    nodes = context.source.nodes(one.execution_id)
    return {"nodes": nodes, "graph": None if nodes.value is None else graphs.graph(nodes.value.items)}


def confirm(context: Context, asked: Asked, execution_id: str) -> Page:
    """The question before a run is redriven, with the nodes that start again. Raises Broken if they cannot be read."""
    nodes = context.source.nodes(execution_id)
    if nodes.value is None:
        assert nodes.problem is not None
        raise Broken(nodes.problem)
    chosen = asked.text("from")
    again = nodes.value.again(chosen) if chosen else nodes.value.again()
    model = {
        "execution_id": execution_id,
        "nodes": nodes,
        "chosen": chosen if chosen in nodes.value.states else "",
        "again": [one for one in nodes.value.items if one.name in again],
        "kept": [one for one in nodes.value.items if one.name not in again],
        "command": command(execution_id, chosen),
    }
    return Page("confirm_redrive.html", "Redrive a run", model)


def command(execution_id: str, chosen: str) -> str:
    """The command that does the same."""
    words = ["clockwork", "run", "redrive", execution_id, *(["--from", chosen] if chosen else [])]
    return shlex.join(words)
