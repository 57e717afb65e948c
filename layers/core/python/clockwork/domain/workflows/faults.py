"""The faults of a definition, each with the place in the target (a JSON Pointer) and the end of a sentence about it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from clockwork.domain.workflows.contexts import Unfilled, parts_of, references_of
from clockwork.domain.workflows.definition import MOST_EDGES, MOST_NODES, NODE_NAME, Place
from clockwork.domain.workflows.graph import ancestors_of, circle_in

Fault = tuple[str, str]
_REFERS = 'must be a pointer to /input, /run or /nodes/{name} of a node that comes before it, such as "/input/day"'


def fault_of_number(count: int) -> str | None:
    """Why a workflow may not have so many nodes, as the end of a sentence; None if it may."""
    return None if 1 <= count <= MOST_NODES else f"has {count} nodes, at least 1 and at most {MOST_NODES} are taken"


def faults_of(nodes: Mapping[str, Place]) -> Iterator[Fault]:
    """The faults of the nodes together. Each bound of a single field was checked before."""
    if (fault := fault_of_number(len(nodes))) is not None:
        yield "/nodes", fault
        return
    edges = sum(len(node.after) for node in nodes.values())
    if edges > MOST_EDGES:
        yield "/nodes", f"has {edges} edges, at most {MOST_EDGES} are taken"
        return
    wrong_edges = list(_wrong_edges(nodes))
    yield from wrong_edges
    after = {name: node.after for name, node in nodes.items()}
    if not wrong_edges and (circle := circle_in(after)) is not None:
        yield f"/nodes/{circle[0]}/after", f"closes a circle: {' -> '.join(circle)}"
    for name, node in nodes.items():
        if not node.after and node.when != "succeeded":
            yield f"/nodes/{name}/when", "is for nodes with parents"
        before = ancestors_of(after, name) - {name}
        for place, pointer in _pointers(name, node):
            if isinstance(pointer, Unfilled):
                yield place, str(pointer)
            elif (unknown := _fault_of(pointer, nodes, before, name)) is not None:
                yield place, str(unknown)


def _wrong_edges(nodes: Mapping[str, Place]) -> Iterator[Fault]:
    for name, node in nodes.items():
        for place, parent in enumerate(node.after):
            at = f"/nodes/{name}/after/{place}"
            if parent == name:
                yield at, "is the node itself"
            elif parent not in nodes:
                yield at, f'names no node: "{parent}"'
            elif parent in node.after[:place]:
                yield at, f'names "{parent}" a second time'


def _pointers(name: str, node: Place) -> Iterator[tuple[str, object]]:
    """Each pointer of a node, with its place; in place of a payload's pointers the reason why they cannot be told."""
    for place, condition in enumerate(node.conditions):
        yield f"/nodes/{name}/if/{place}/at", condition.at
    if node.payload is not None:
        try:
            found = list(references_of(msgspec.json.decode(node.payload)))
        except Unfilled as fault:
            yield f"/nodes/{name}/payload", fault
            return
        for inner, pointer in found:
            yield f"/nodes/{name}/payload{inner}", pointer


def _fault_of(pointer: object, nodes: Mapping[str, Place], before: frozenset[str], name: str) -> str | None:
    """Why a pointer may not stand in a node; None if it may."""
    parts = parts_of(pointer) if isinstance(pointer, str) else None
    if parts is None or parts[0] not in ("input", "run", "nodes") or parts == ("nodes",):
        return _REFERS
    if parts[0] != "nodes" or parts[1] in before:
        return None
    if parts[1] not in nodes:
        return f'refers to "{parts[1]}", which is no node' if NODE_NAME.fullmatch(parts[1]) else _REFERS
    return f"refers to {parts[1]}, which does not come before {name}"
