"""The faults of a workflow's graph and references, in the words of the API.

Each has the RFC 6901 pointer below the request and the end of a sentence about the place. The API has rules of its own
for the fields of targets and for a client's lists, which it alone judges.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from clockwork_client.errors import Fault
from clockwork_client.workflows.graph import ancestors_of, circle_in
from clockwork_client.workflows.references import FROM, escaped

MOST_NODES = 100
MOST_EDGES = 400
#: Payloads of nodes are at most this deep.
DEEPEST = 100
#: https://www.rfc-editor.org/rfc/rfc6901#section-3
_POINTER = re.compile(r"(?:/(?:[^~/]|~[01])*)+\Z")
_REFERS = 'must be a pointer to /input, /run or /nodes/{name} of a node that comes before it, such as "/input/day"'
Nodes = Mapping[str, Mapping[str, Any]]


def fault_of_number(nodes: Mapping[str, Any]) -> Fault | None:
    """The fault of too many nodes, or of none."""
    if 1 <= len(nodes) <= MOST_NODES:
        return None
    return Fault("/target/nodes", f"has {len(nodes)} nodes, at least 1 and at most {MOST_NODES} are taken")


def faults_of_graph(nodes: Nodes) -> Iterator[Fault]:
    """The faults of nodes whose fields have none."""
    if (fault := fault_of_number(nodes)) is not None:
        yield fault
        return
    after = {name: tuple(node.get("after") or ()) for name, node in nodes.items()}
    edges = sum(map(len, after.values()))
    if edges > MOST_EDGES:
        yield Fault("/target/nodes", f"has {edges} edges, at most {MOST_EDGES} are taken")
        return
    wrong_edges = list(_wrong_edges(after))
    yield from wrong_edges
    if not wrong_edges and (circle := circle_in(after)) is not None:
        yield Fault(f"/target/nodes/{circle[0]}/after", f"closes a circle: {' -> '.join(circle)}")
    for name, node in nodes.items():
        if not after[name] and (node.get("when") or "succeeded") != "succeeded":
            yield Fault(f"/target/nodes/{name}/when", "is for nodes with parents")
        before = ancestors_of(after, name) - {name}
        for place, pointer in _pointers(name, node):
            detail = pointer.detail if isinstance(pointer, Fault) else _fault_of(pointer, nodes, before, name)
            if detail is not None:
                yield Fault(place, detail)


def _wrong_edges(after: Mapping[str, tuple[str, ...]]) -> Iterator[Fault]:
    for name, parents in after.items():
        for place, parent in enumerate(parents):
            at = f"/target/nodes/{name}/after/{place}"
            if parent == name:
                yield Fault(at, "is the node itself")
            elif parent not in after:
                yield Fault(at, f'names no node: "{parent}"')
            elif parent in parents[:place]:
                yield Fault(at, f'names "{parent}" a second time')


def _pointers(name: str, node: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Each pointer of a node with its place; a Fault in place of all pointers of a payload that is too deep."""
    for place, condition in enumerate(node.get("if") or ()):
        yield f"/target/nodes/{name}/if/{place}/at", condition.get("at")
    at = f"/target/nodes/{name}/payload"
    found = list(_references(node.get("payload"), at, 0))
    deep = next((one for _, one in found if isinstance(one, Fault)), None)
    yield from found if deep is None else [(at, deep)]


def _references(value: Any, at: str, depth: int) -> Iterator[tuple[str, Any]]:
    if depth > DEEPEST:
        yield at, Fault(at, f"is more than {DEEPEST} objects and lists deep")
    elif isinstance(value, dict):
        if FROM in value:
            yield at, value[FROM] if len(value) == 1 else None
            return
        for name, inner in value.items():
            yield from _references(inner, f"{at}/{escaped(name)}", depth + 1)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _references(inner, f"{at}/{index}", depth + 1)


def _fault_of(pointer: object, nodes: Nodes, before: set[str], name: str) -> str | None:
    """Why a pointer may not stand in a node; None if it may."""
    if not isinstance(pointer, str) or _POINTER.match(pointer) is None:
        return _REFERS
    parts = [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]
    if parts[0] not in ("input", "run", "nodes") or parts == ["nodes"]:
        return _REFERS
    if parts[0] != "nodes" or parts[1] in before:
        return None
    if parts[1] not in nodes:
        return f'refers to "{parts[1]}", which is no node'
    return f"refers to {parts[1]}, which does not come before {name}"
