"""The check of a workflow without the API finds what the core finds, in the same words."""

from __future__ import annotations

import json
import random
from typing import Any

import msgspec
import pytest

from clockwork.domain.workflows.definition import Node
from clockwork.domain.workflows.faults import faults_of
from clockwork_client import Invalid, Workflow, http
from clockwork_client.workflows.check import check
from clockwork_client.workflows.faults import faults_of_graph

HOOK = http("https://example.com/hook")
NAMES = ["a", "b", "c", "d", "e"]
POINTERS = ["/input", "/input/day", "/run/dueAt", "/nodes", "/nodes/x/state", "/", "", "input", "/a~2", "/other", 7]


def drawn(chance: random.Random) -> dict[str, Any]:
    """Nodes with faults of their graph and of their references, or without any."""
    pointers = [*POINTERS, *(f"/nodes/{name}/result" for name in NAMES)]
    nodes: dict[str, Any] = {}
    for place, name in enumerate(NAMES[: chance.randint(1, len(NAMES))]):
        before = NAMES[:place] if chance.random() < 0.8 else [*NAMES, "x"]
        node: dict[str, Any] = {"target": HOOK.raw, "after": chance.choices(before, k=chance.randint(0, len(before)))}
        if chance.random() < 0.5:
            node["when"] = chance.choice(["succeeded", "failed", "ended"])
        if chance.random() < 0.4:
            node["if"] = [{"at": str(chance.choice(pointers)), "is": [1]}]
        if chance.random() < 0.4:
            node["payload"] = {
                "~/": [{"$from": chance.choice(pointers)}, {"$from": "/input", "x": 1}][: chance.randint(0, 2)]
            }
        nodes[name] = node
    return nodes


def of_core(nodes: dict[str, Any]) -> list[tuple[str, str]]:
    """The faults as the core tells them."""
    kept = {}
    for name, node in nodes.items():
        raw = {**node, "payload": None}
        made = msgspec.convert(raw, Node)
        if "payload" in node:
            made = msgspec.structs.replace(made, payload=json.dumps(node["payload"]).encode())
        kept[name] = made
    return [(f"/target{place}", detail) for place, detail in faults_of(kept)]


def test_the_graph_has_the_faults_that_the_core_finds() -> None:
    chance, sound = random.Random(7), 0
    for _ in range(2_000):
        nodes = drawn(chance)
        expected = of_core(nodes)
        assert [tuple(one) for one in faults_of_graph(nodes)] == expected, nodes
        sound += not expected
    assert 100 < sound < 1_500


def chain(length: int, edges: int = 1) -> dict[str, Any]:
    names = [f"n{place}" for place in range(length)]
    return {
        name: {"target": HOOK.raw, "after": names[max(0, place - edges) : place]} for place, name in enumerate(names)
    }


@pytest.mark.parametrize(
    ("nodes", "fault"),
    [
        ({}, ("/target/nodes", "has 0 nodes, at least 1 and at most 100 are taken")),
        (chain(101), ("/target/nodes", "has 101 nodes, at most 100 are taken")),
        (chain(100, 5), ("/target/nodes", "has 485 edges, at most 400 are taken")),
        (
            {"a": {"target": HOOK.raw, "after": ["b"]}, "b": {"target": HOOK.raw, "after": ["a"]}},
            ("/target/nodes/a/after", "closes a circle: a -> b -> a"),
        ),
    ],
)
def test_a_fault_of_the_whole_is_told_once(nodes: dict[str, Any], fault: tuple[str, str]) -> None:
    with pytest.raises(Invalid) as refused:
        check({"type": "workflow", "nodes": nodes})
    assert [one.pointer for one in refused.value.faults] == [fault[0]]
    assert refused.value.status == 422


def test_a_chain_of_a_hundred_is_taken() -> None:
    check({"type": "workflow", "nodes": chain(100, 4)})


def test_a_definition_has_at_most_64_kib() -> None:
    wf = Workflow()
    wf.step("a", HOOK, payload="x" * 70_000)
    with pytest.raises(Invalid, match="bytes encoded, at most 65,536 are taken"):
        wf.check()


@pytest.mark.parametrize("target", [None, [], "x", {}, {"type": "http"}, {"type": "workflow"}, {"nodes": {}}])
def test_what_is_no_workflow_is_refused_and_breaks_nothing(target: Any) -> None:
    with pytest.raises(Invalid):
        check(target)
