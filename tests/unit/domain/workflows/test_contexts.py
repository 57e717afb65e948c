"""Pointers, conditions and payloads of nodes."""

from __future__ import annotations

import json
import tracemalloc
from typing import Any

import msgspec
import pytest

from clockwork.domain.workflows.contexts import (
    NOTHING,
    Unfilled,
    all_hold,
    ancestors_named,
    filled,
    found_at,
    holds,
    parts_of,
    references_of,
)
from clockwork.domain.workflows.definition import LARGEST_DEFINITION, LARGEST_FILLED, LARGEST_INPUT, Condition, Node
from tests.unit.domain.workflows.test_graph import TARGET

#: The document and the pointers of https://www.rfc-editor.org/rfc/rfc6901#section-5
RFC = json.loads(
    '{"foo": ["bar", "baz"], "": 0, "a/b": 1, "c%d": 2, "e^f": 3, "g|h": 4, "i\\\\j": 5, "k\\"l": 6, " ": 7, "m~n": 8}'
)
VECTORS = [
    ("/foo", ["bar", "baz"]),
    ("/foo/0", "bar"),
    ("/", 0),
    ("/a~1b", 1),
    ("/c%d", 2),
    ("/e^f", 3),
    ("/g|h", 4),
    ("/i\\j", 5),
    ('/k"l', 6),
    ("/ ", 7),
    ("/m~0n", 8),
]


@pytest.mark.parametrize(("pointer", "value"), VECTORS)
def test_a_pointer_finds_what_the_rfc_says(pointer: str, value: Any) -> None:
    assert found_at(pointer, RFC) == value


@pytest.mark.parametrize(
    "pointer", ["/foo/2", "/foo/-", "/foo/00", "/foo/+1", "/foo/１", "/nothing", "/foo/bar", "/foo/0/x", "/m~n", "foo"]
)
def test_a_pointer_may_find_nothing(pointer: str) -> None:
    assert found_at(pointer, RFC) is NOTHING


def test_escapes_are_read_in_the_order_of_the_rfc() -> None:
    assert parts_of("/~01/a~1b") == ("~1", "a/b")
    for text in ("", "a", "/~", "/~2", "a/b"):
        assert parts_of(text) is None


CONTEXT = {
    "input": {"day": "2026-11-24"},
    "run": {"executionId": "x"},
    "nodes": {"check": {"state": "SUCCEEDED", "result": {"risk": "high", "n": 1, "sure": True, "none": None}}},
}


@pytest.mark.parametrize(
    ("pointer", "values", "expected"),
    [
        ("/nodes/check/result/risk", ("high",), True),
        ("/nodes/check/result/risk", ("low", "high"), True),
        ("/nodes/check/result/risk", ("low",), False),
        ("/nodes/check/result/n", (1,), True),
        ("/nodes/check/result/n", (1.0,), True),
        ("/nodes/check/result/n", (True,), False),
        ("/nodes/check/result/n", ("1",), False),
        ("/nodes/check/result/sure", (True,), True),
        ("/nodes/check/result/sure", (1,), False),
        ("/nodes/check/result/none", (None,), True),
        ("/nodes/check/result/nothing", (None,), True),
        ("/nodes/ask/state", (None,), True),
        ("/nodes/check/result", ("high",), False),
    ],
)
def test_a_condition_compares_json_values(pointer: str, values: tuple[Any, ...], expected: bool) -> None:
    assert holds(Condition(pointer, is_=values), CONTEXT) is expected
    assert holds(Condition(pointer, is_not=values), CONTEXT) is not expected


def test_all_conditions_have_to_hold() -> None:
    high, low = (Condition("/nodes/check/result/risk", is_=(word,)) for word in ("high", "low"))
    assert all_hold(Node(target=TARGET), CONTEXT)
    assert all_hold(Node(target=TARGET, conditions=(high,)), CONTEXT)
    assert not all_hold(Node(target=TARGET, conditions=(high, low)), CONTEXT)


def node(payload: Any) -> Node:
    return Node(target=TARGET, payload=msgspec.json.encode(payload))


def test_references_are_replaced_wherever_they_stand() -> None:
    payload = {"day": {"$from": "/input/day"}, "all": [{"$from": "/nodes/check/result"}, {"x": {"$from": "/run"}}]}
    body = filled(node(payload), CONTEXT).body
    result = CONTEXT["nodes"]["check"]["result"]  # type: ignore[index]
    assert json.loads(body) == {"day": "2026-11-24", "all": [result, {"x": {"executionId": "x"}}]}


def test_a_payload_that_is_left_out_is_the_whole_context_and_a_text_stays_one() -> None:
    assert json.loads(filled(Node(target=TARGET), CONTEXT).body) == CONTEXT
    text = filled(node({"$from": "/input/day"}), CONTEXT)
    assert (text.body, text.is_text) == (b"2026-11-24", True)


def test_what_is_not_there_is_an_error_and_null_is_not() -> None:
    with pytest.raises(Unfilled, match="refers to /nodes/check/result/rows, where nothing is"):
        filled(node([{"$from": "/nodes/check/result/rows"}]), CONTEXT)
    assert filled(node([{"$from": "/nodes/check/result/none"}]), CONTEXT).body == b"[null]"


def test_a_payload_that_grows_too_large_is_an_error_with_advice() -> None:
    large = {**CONTEXT, "input": "x" * LARGEST_FILLED}
    with pytest.raises(Unfilled, match=r"more than 262,144 bytes.*/nodes/\{name\}/executionId"):
        filled(node([{"$from": "/input"}]), large)
    with pytest.raises(Unfilled, match="more than 262,144 bytes"):
        filled(Node(target=TARGET), large)
    assert len(filled(node({"$from": "/input"}), large).body) == LARGEST_FILLED


def test_a_payload_that_would_be_a_hundred_megabytes_is_refused_before_it_is_made() -> None:
    bomb = node([{"$from": "/input"}] * 3_600)
    assert len(bomb.payload or b"") < LARGEST_DEFINITION * 1.1
    context = {**CONTEXT, "input": "\x01" * (LARGEST_INPUT // 6)}
    tracemalloc.start()
    with pytest.raises(Unfilled, match="more than 262,144 bytes"):
        filled(bomb, context)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 5_000_000, "a deliverer has 384 MB for all messages of its batch"


def test_many_references_that_stay_small_are_filled_in() -> None:
    assert json.loads(filled(node([{"$from": "/input/day"}] * 3_000), CONTEXT).body) == ["2026-11-24"] * 3_000


def test_the_places_of_references_are_told_and_a_deep_payload_is_refused() -> None:
    value = {"a/b": [{"$from": "/input"}], "x": {"$from": "/run", "more": 1}}
    assert list(references_of(value)) == [("/a~1b/0", "/input"), ("/x", None)]
    deep: Any = 1
    for _ in range(102):
        deep = [deep]
    with pytest.raises(Unfilled, match="100 objects and lists deep"):
        list(references_of(deep))


def test_the_ancestors_that_a_node_reads_are_told() -> None:
    condition = Condition("/nodes/check/result", is_=(1,))
    payload = msgspec.json.encode([{"$from": "/nodes/fetch/executionId"}, {"$from": "/input/x"}, {"$from": "/run"}])
    assert ancestors_named(Node(target=TARGET, conditions=(condition,), payload=payload)) == {"check", "fetch"}
