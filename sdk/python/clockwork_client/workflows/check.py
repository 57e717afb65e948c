"""All faults of a workflow that can be found without the API, in its words.

`schema.json` has the shapes as the API describes them: `make openapi` writes it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from clockwork_client.errors import Fault, Invalid
from clockwork_client.workflows.faults import fault_of_number, faults_of_graph
from clockwork_client.workflows.forms import faults_in
from clockwork_client.workflows.rules import faults_between_fields

#: The most bytes of a definition as JSON.
LARGEST = 64 * 1024
#: The fields of a node that the graph is made of.
_OF_THE_GRAPH = ("after", "when", "if", "payload")
_SCHEMA = Path(__file__).with_name("schema.json")


def check(target: object) -> None:
    """Raise Invalid with the faults of the target of a job, unless it is a workflow without any.

    Only the API judges the addresses of targets, and whether the client's lists have them.
    """
    faults = tuple(sorted(set(_faults_of(target))))
    if faults:
        raise Invalid(422, f"the workflow has {len(faults)} fault{'s' if len(faults) > 1 else ''}", faults)


def _faults_of(target: object) -> Iterator[Fault]:
    schemas = _schemas()
    nodes = target.get("nodes") if isinstance(target, dict) else None
    size = len(json.dumps(target, ensure_ascii=False, separators=(",", ":")).encode())
    if size > LARGEST:
        yield Fault("/target", f"has {size:,} bytes encoded, at most {LARGEST:,} are taken")
    elif isinstance(nodes, dict) and (fault := fault_of_number(nodes)) is not None:
        yield fault
    else:
        found = list(faults_in(target, schemas["WorkflowTargetBody"], schemas, "/target"))
        found += faults_between_fields(nodes, found) if isinstance(nodes, dict) else []
        yield from found
        if isinstance(nodes, dict) and not any(map(_is_in_the_graph, found)):
            yield from faults_of_graph(nodes)


def _is_in_the_graph(fault: Fault) -> bool:
    """Whether a fault leaves open which nodes there are, what comes before which, or what they refer to."""
    field = fault.pointer.removeprefix("/target/nodes").split("/")[1:]
    is_below = fault.pointer.startswith("/target/nodes")
    return is_below and (len(field) < 2 or field[1] in _OF_THE_GRAPH)


@lru_cache(maxsize=1)
def _schemas() -> Mapping[str, Any]:
    return dict(json.loads(_SCHEMA.read_text(encoding="utf-8")))
