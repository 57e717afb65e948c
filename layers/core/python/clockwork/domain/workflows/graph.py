"""The graph of a workflow: its edges, and what is decided about a node once all of its parents have ended.

A node ends with one of three marks. `ok`: its execution succeeded. `bad`: its execution failed. `off`: it does not run.
A mark *counts* for children and for the run by two rules more. An `off` node that a failed parent keeps from running
counts as `bad`. The failure of an optional node counts as `off`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Literal

import msgspec

from clockwork.domain.workflows.definition import Node, When

Mark = Literal["ok", "bad", "off"]
Decision = Literal["run", "off"]

_WHENS: tuple[When, ...] = ("succeeded", "failed", "ended")
_OPTIONAL, _CONDITIONAL = 4, 8


class Graph(msgspec.Struct, frozen=True):
    """The parents of each node by its index, and the rules by which it runs. `conditional`: it has conditions."""

    parents: tuple[tuple[int, ...], ...]
    when: tuple[When, ...]
    optional: tuple[bool, ...]
    conditional: tuple[bool, ...]

    @property
    def size(self) -> int:
        """The number of nodes."""
        return len(self.parents)

    def encoded(self) -> bytes:
        """Three bytes a node at the most, and one an edge. `decoded` reads them back."""
        raw = bytearray()
        for index, parents in enumerate(self.parents):
            rules = _OPTIONAL * self.optional[index] + _CONDITIONAL * self.conditional[index]
            raw += bytes([_WHENS.index(self.when[index]) + rules, len(parents), *parents])
        return bytes(raw)


@lru_cache(maxsize=32)
def decoded(raw: bytes) -> Graph:
    """The graph of which `encoded` makes these bytes. Raises ValueError."""
    parents, rules = list[tuple[int, ...]](), list[int]()
    place = 0
    while place < len(raw):
        behind_parents = place + 2 + (raw[place + 1] if place + 1 < len(raw) else 0)
        rules.append(raw[place])
        parents.append(tuple(raw[place + 2 : behind_parents]))
        place = behind_parents
    if place != len(raw) or any(one % _OPTIONAL >= len(_WHENS) for one in rules):
        raise ValueError("no graph")
    graph = Graph(
        parents=tuple(parents),
        when=tuple(_WHENS[one % _OPTIONAL] for one in rules),
        optional=tuple(bool(one & _OPTIONAL) for one in rules),
        conditional=tuple(bool(one & _CONDITIONAL) for one in rules),
    )
    if len(order_of(graph)) != graph.size:
        raise ValueError("no graph")
    return graph


def graph_of(nodes: Mapping[str, Node]) -> Graph:
    """The graph of nodes that `faults_of` finds nothing against."""
    index = {name: place for place, name in enumerate(nodes)}
    return Graph(
        parents=tuple(tuple(index[parent] for parent in node.after) for node in nodes.values()),
        when=tuple(node.when for node in nodes.values()),
        optional=tuple(node.optional for node in nodes.values()),
        conditional=tuple(bool(node.conditions) for node in nodes.values()),
    )


@lru_cache(maxsize=32)
def order_of(graph: Graph) -> tuple[int, ...]:
    """The nodes, each behind its parents. Nodes of a circle, and those behind one, are left out."""
    waiting = [len(set(parents)) for parents in graph.parents]
    children = children_of(graph)
    order = [index for index, count in enumerate(waiting) if count == 0]
    for index in order:
        for child in children[index]:
            waiting[child] -= 1
            if waiting[child] == 0:
                order.append(child)
    return tuple(order)


@lru_cache(maxsize=32)
def children_of(graph: Graph) -> tuple[tuple[int, ...], ...]:
    """The children of each node."""
    children: list[list[int]] = [[] for _ in graph.parents]
    for index, parents in enumerate(graph.parents):
        for parent in set(parents):
            if parent < len(children):
                children[parent].append(index)
    return tuple(map(tuple, children))


def circle_in(after: Mapping[str, Collection[str]]) -> list[str] | None:
    """The names along a circle, each a parent of the next; the first is the last. None if there is none.

    `after` has the parents of each node. A parent that is no node is passed over.
    """
    done: set[str] = set()
    for start in after:
        path: list[str] = []
        branches = [iter([start])]
        while branches:
            name = next(branches[-1], None)
            if name is None:
                branches.pop()
                done |= set(path[-1:])
                path = path[:-1]
            elif name in path:
                return [name, *reversed(path[path.index(name) :])]
            elif name not in done and name in after:
                path.append(name)
                branches.append(iter(after[name]))
    return None


def ancestors_of(after: Mapping[str, Collection[str]], name: str) -> frozenset[str]:
    """All nodes that come before a node. Neither a circle nor a parent that is no node is an obstacle."""
    found: set[str] = set()
    waiting = list(after.get(name, ()))
    while waiting:
        if (one := waiting.pop()) not in found:
            found.add(one)
            waiting += after.get(one, ())
    return frozenset(found)


def behind(graph: Graph, roots: Iterable[int]) -> frozenset[int]:
    """These nodes and all that come after them."""
    found: set[int] = set()
    waiting, children = list(roots), children_of(graph)
    while waiting:
        if (one := waiting.pop()) not in found:
            found.add(one)
            waiting += children[one]
    return frozenset(found)


def counted(graph: Graph, marks: Mapping[int, Mark]) -> dict[int, Mark]:
    """How each ended node counts for its children and for the run."""
    found: dict[int, Mark] = {}
    for index in order_of(graph):
        mark = marks.get(index)
        if mark is None:
            continue
        if mark == "off" and is_unreached(graph, found, index):
            mark = "bad"
        found[index] = "off" if mark == "bad" and graph.optional[index] else mark
    return found


def is_unreached(graph: Graph, count: Mapping[int, Mark], index: int) -> bool:
    """Whether a failed parent keeps the node from running."""
    return graph.when[index] == "succeeded" and any(count.get(parent) == "bad" for parent in graph.parents[index])


def because(graph: Graph, count: Mapping[int, Mark], index: int) -> int | None:
    """The parent that keeps a node from running; None if its own conditions do, or no parent alone does."""
    if graph.when[index] != "succeeded":
        return None
    parents = graph.parents[index]
    failed = next((parent for parent in parents if count.get(parent) == "bad"), None)
    if failed is not None or any(count.get(parent) == "ok" for parent in parents):
        return failed
    return next((parent for parent in parents if count.get(parent) == "off"), None)


def decide(graph: Graph, count: Mapping[int, Mark], index: int) -> Decision | None:
    """Whether a node runs, its conditions aside; None as long as a parent has not ended."""
    marks = [count.get(parent) for parent in graph.parents[index]]
    if None in marks:
        return None
    has_failed = "bad" in marks
    if graph.when[index] == "failed":
        return "run" if has_failed else "off"
    if graph.when[index] == "ended":
        return "run"
    return "run" if not has_failed and ("ok" in marks or not marks) else "off"


class Step(msgspec.Struct, frozen=True):
    """The next step by the marks: the nodes that are decided against now, those that are to run, and whether all ended.

    A conditional node is among `ready` until its conditions were asked.
    """

    off: tuple[int, ...]
    ready: tuple[int, ...]
    is_over: bool


def step_of(
    graph: Graph, marks: Mapping[int, Mark], after: Collection[int] | None, unmet: Collection[int] = ()
) -> Step:
    """The next step of a run, by its marks.

    `after`: only what follows from the ends of these nodes; None: all of it. `unmet`: the nodes whose conditions do not
    hold. The end of one node releases no other node's children: many ends do not release all of them many times. But
    children that have ended may have done so within the call before, whose process died: theirs follow as well.
    """
    known = dict(marks)
    off: list[int] = []
    children = children_of(graph)
    candidates = set(range(graph.size)) if after is None else {child for one in after for child in children[one]}
    count = counted(graph, known)
    for index in order_of(graph):
        if index not in candidates:
            continue
        if index not in known and _is_off(graph, count, index, unmet):
            known[index] = "off"
            off.append(index)
            count = counted(graph, known)
        if index in known:
            candidates |= set(children[index])
    ready = [i for i in sorted(candidates) if i not in known and i not in unmet and decide(graph, count, i) == "run"]
    return Step(tuple(sorted(off)), tuple(ready), len(marks) == graph.size)


def _is_off(graph: Graph, count: Mapping[int, Mark], index: int, unmet: Collection[int]) -> bool:
    decision = decide(graph, count, index)
    return decision == "off" or (decision == "run" and index in unmet)


def succeeds(graph: Graph, marks: Mapping[int, Mark], *, is_stopped: bool) -> bool:
    """Whether a run of which all nodes have ended has succeeded: no node counts as failed.

    Once a run was stopped, what did not succeed may have been stopped, optional or not: nothing may have failed.
    """
    return "bad" not in (marks if is_stopped else counted(graph, marks)).values()


def roots_of(graph: Graph, marks: Mapping[int, Mark], named: Sequence[int]) -> frozenset[int]:
    """The nodes that a redrive starts from: those that failed, optional or not, have no end, or are named."""
    count = counted(graph, marks)
    failed = (one for one in range(graph.size) if "bad" in (marks.get(one), count.get(one)) or one not in marks)
    return frozenset((*failed, *named))
