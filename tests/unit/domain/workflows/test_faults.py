"""The faults of a definition, each with its place and its words."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from clockwork.domain.workflows.definition import Condition, Node
from clockwork.domain.workflows.faults import faults_of
from tests.unit.domain.workflows.test_graph import TARGET


def node(*after: str, payload: Any = None, **fields: Any) -> Node:
    encoded = None if payload is None else msgspec.json.encode(payload)
    return Node(target=TARGET, after=after, payload=encoded, **fields)


POINTER = 'must be a pointer to /input, /run or /nodes/{name} of a node that comes before it, such as "/input/day"'
CASES: list[tuple[dict[str, Node], list[tuple[str, str]]]] = [
    ({}, [("/nodes", "has 0 nodes, at least 1 and at most 100 are taken")]),
    ({f"n{i}": node() for i in range(101)}, [("/nodes", "has 101 nodes, at least 1 and at most 100 are taken")]),
    ({"a": node(), "b": node("x")}, [("/nodes/b/after/0", 'names no node: "x"')]),
    ({"a": node("a")}, [("/nodes/a/after/0", "is the node itself")]),
    ({"a": node(), "b": node("a", "a")}, [("/nodes/b/after/1", 'names "a" a second time')]),
    ({"a": node("c"), "b": node("a"), "c": node("b")}, [("/nodes/a/after", "closes a circle: a -> b -> c -> a")]),
    ({"a": node(when="failed")}, [("/nodes/a/when", "is for nodes with parents")]),
    (
        {"c": node(payload={"day": {"$from": "/nodes/d/result"}}), "d": node("c")},
        [("/nodes/c/payload/day", "refers to d, which does not come before c")],
    ),
    ({"a": node(payload=[{"$from": "/nodes/x"}])}, [("/nodes/a/payload/0", 'refers to "x", which is no node')]),
    ({"a": node(payload={"$from": "/nodes/a"})}, [("/nodes/a/payload", "refers to a, which does not come before a")]),
    ({"a": node(payload={"$from": "/nodes"})}, [("/nodes/a/payload", POINTER)]),
    ({"a": node(payload={"$from": "input"})}, [("/nodes/a/payload", POINTER)]),
    ({"a": node(payload={"$from": 7})}, [("/nodes/a/payload", POINTER)]),
    ({"a": node(payload={"$from": "/input", "more": 1})}, [("/nodes/a/payload", POINTER)]),
    (
        {"a": node(), "b": node("a", conditions=(Condition("/nodes/b/state", is_=("x",)),))},
        [("/nodes/b/if/0/at", "refers to b, which does not come before b")],
    ),
]


@pytest.mark.parametrize(("nodes", "expected"), CASES)
def test_a_fault_is_told_with_its_place(nodes: dict[str, Node], expected: list[tuple[str, str]]) -> None:
    assert list(faults_of(nodes)) == expected


def test_too_many_edges_are_refused() -> None:
    nodes = {f"n{i}": node(*(f"n{j}" for j in range(i))) for i in range(30)}
    assert list(faults_of(nodes)) == [("/nodes", "has 435 edges, at most 400 are taken")]


def test_a_deep_payload_is_told_where_it_is() -> None:
    deep: Any = 1
    for _ in range(102):
        deep = [deep]
    ((place, fault),) = faults_of({"a": node(payload=deep)})
    assert (place, fault) == ("/nodes/a/payload", "is more than 100 objects and lists deep")


def test_a_sound_definition_has_no_fault() -> None:
    nodes = {
        "fetch": node(payload={"day": {"$from": "/input/day"}}),
        "check": node("fetch", payload={"rows": {"$from": "/nodes/fetch/result/rows"}}),
        "ask": node("check", conditions=(Condition("/nodes/check/result/risk", is_=("high",)),)),
        "book": node("check", "ask", payload={"of": {"$from": "/nodes/fetch/result"}}),
        "undo": node("book", when="failed"),
    }
    assert list(faults_of(nodes)) == []
