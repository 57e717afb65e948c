"""The graph of a run as shapes of an SVG: pure functions that say where each node and each edge lies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from clockwork_client.console import words
from clockwork_client.workflows.answers import Node
from clockwork_client.workflows.graph import depths_of

_WIDTH, _HEIGHT, _ACROSS, _DOWN, _EDGE = 168, 42, 232, 58, 4
#: The most characters of a name in its box. The list below the picture has it whole.
_LONGEST = 20


class Box(NamedTuple):
    """A node: the upper left corner of its box, its tone, and the words in it."""

    x: int
    y: int
    tone: str
    name: str
    state: str
    says: str


class Edge(NamedTuple):
    """An edge from a parent to a child, as the data of an SVG path. `kind`: `plain`, or `dotted` for another rule."""

    path: str
    kind: str


class Graph(NamedTuple):
    """The picture of a run. `says` has it in words."""

    boxes: tuple[Box, ...]
    edges: tuple[Edge, ...]
    width: int
    height: int
    box_width: int
    box_height: int
    says: str


def graph(nodes: Sequence[Node]) -> Graph:
    """Columns from left to right: each node stands behind all of its parents."""
    depths = depths_of({one.name: one.after for one in nodes})
    rows: dict[int, int] = {}
    boxes: dict[str, Box] = {}
    for one in nodes:
        depth = depths[one.name]
        row = rows[depth] = rows.get(depth, -1) + 1
        name = one.name if len(one.name) <= _LONGEST else f"{one.name[: _LONGEST - 1]}…"
        x, y = _EDGE + depth * _ACROSS, _EDGE + row * _DOWN
        boxes[one.name] = Box(x, y, words.tone(one.state), name, words.state(one.state), told(one))
    edges = [
        _edge(boxes[parent], boxes[one.name], one.when) for one in nodes for parent in one.after if parent in boxes
    ]
    done = sum(one.state == "SUCCEEDED" for one in nodes)
    return Graph(
        boxes=tuple(boxes.values()),
        edges=tuple(edges),
        width=max((one.x for one in boxes.values()), default=0) + _WIDTH + _EDGE,
        height=max((one.y for one in boxes.values()), default=0) + _HEIGHT + _EDGE,
        box_width=_WIDTH,
        box_height=_HEIGHT,
        says=f"{done} of {words.plural(len(nodes), 'node')} succeeded. The list below has each of them.",
    )


def told(one: Node) -> str:
    """A node in one sentence: what it waits for, and how it stands."""
    behind = f", after {', '.join(one.after)}" if one.after else ""
    rule = {"failed": " if one of them fails", "ended": " in any case"}.get(one.when, "") if one.after else ""
    because = f", because of {one.because}" if one.because else ""
    return f"{one.name}{behind}{rule}: {words.state(one.state)}{because}"


def _edge(parent: Box, child: Box, when: str) -> Edge:
    x, y = parent.x + _WIDTH, parent.y + _HEIGHT // 2
    end = child.y + _HEIGHT // 2
    bend = max(32, (child.x - x) // 2)
    path = f"M{x} {y}C{x + bend} {y} {child.x - bend} {end} {child.x} {end}"
    return Edge(path, "plain" if when == "succeeded" else "dotted")
