"""The graph of a workflow: its circles, and what is decided about each node by the marks of its parents."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clockwork.domain.workflows.definition import Condition, Node, When
from clockwork.domain.workflows.graph import (
    Graph,
    Mark,
    ancestors_of,
    because,
    behind,
    circle_in,
    counted,
    decide,
    decoded,
    graph_of,
    order_of,
    roots_of,
    step_of,
    succeeds,
)
from clockwork.targets.http import HttpTarget

TARGET = HttpTarget("https://example.com/hook")
OK: Mark = "ok"
BAD: Mark = "bad"
OFF: Mark = "off"


def graph(parents: Sequence[Sequence[int]], when: str = "", optional: str = "", conditional: str = "") -> Graph:
    """A graph by its parents. `when` has a letter for each node (s, f, e); the others name nodes by their digits."""
    words: Mapping[str, When] = {"s": "succeeded", "f": "failed", "e": "ended"}
    size = len(parents)
    return Graph(
        parents=tuple(map(tuple, parents)),
        when=tuple(words[letter] for letter in when or "s" * size),
        optional=tuple(str(index) in optional for index in range(size)),
        conditional=tuple(str(index) in conditional for index in range(size)),
    )


#: When, the marks of the parents as they count, and the decision.
RULES = [
    ("s", "", "run"),
    ("s", "o", "run"),
    ("s", "b", "off"),
    ("s", "x", "off"),
    ("s", "oo", "run"),
    ("s", "ob", "off"),
    ("s", "ox", "run"),
    ("s", "bb", "off"),
    ("s", "bx", "off"),
    ("s", "xx", "off"),
    ("f", "o", "off"),
    ("f", "b", "run"),
    ("f", "x", "off"),
    ("f", "oo", "off"),
    ("f", "ob", "run"),
    ("f", "ox", "off"),
    ("f", "bb", "run"),
    ("f", "bx", "run"),
    ("f", "xx", "off"),
    ("e", "o", "run"),
    ("e", "b", "run"),
    ("e", "x", "run"),
    ("e", "ob", "run"),
    ("e", "ox", "run"),
    ("e", "bx", "run"),
    ("e", "xx", "run"),
]
MARKS: Mapping[str, Mark] = {"o": "ok", "b": "bad", "x": "off"}


@pytest.mark.parametrize(("when", "parents", "expected"), RULES)
def test_a_node_is_decided_by_its_rule_and_the_marks_of_its_parents(when: str, parents: str, expected: str) -> None:
    for order in {parents, parents[::-1]}:
        size = len(order)
        made = graph([[]] * size + [list(range(size))], "s" * size + when)
        count = {index: MARKS[letter] for index, letter in enumerate(order)}
        assert decide(made, count, size) == expected


@pytest.mark.parametrize("when", "sfe")
@pytest.mark.parametrize("marks", [{}, {0: OK}, {0: BAD}, {1: OFF}])
def test_nothing_is_decided_before_all_parents_have_ended(when: str, marks: dict[int, Mark]) -> None:
    assert decide(graph([[], [], [0, 1]], "ss" + when), marks, 2) is None


#: The rule of a node, whether it is optional, its own mark, its parent's mark as that counts, and its own as it counts.
COUNTS = [
    ("s", False, OK, OK, OK),
    ("s", False, BAD, OK, BAD),
    ("s", True, BAD, OK, OFF),
    ("s", True, OK, OK, OK),
    ("s", False, OFF, BAD, BAD),
    ("s", True, OFF, BAD, OFF),
    ("s", False, OFF, OFF, OFF),
    ("s", False, OFF, OK, OFF),
    ("f", False, OFF, OK, OFF),
    ("f", False, BAD, BAD, BAD),
    ("f", True, BAD, BAD, OFF),
    ("f", False, OFF, OFF, OFF),
    ("e", False, OFF, BAD, OFF),
    ("e", False, OFF, OK, OFF),
]


@pytest.mark.parametrize(("when", "optional", "own", "parent", "expected"), COUNTS)
def test_a_mark_counts_by_its_rule(when: str, optional: bool, own: Mark, parent: Mark, expected: Mark) -> None:
    made = graph([[], [0]], "s" + when, "1" if optional else "")
    assert counted(made, {0: parent, 1: own}) == {0: parent, 1: expected}


def test_what_was_not_reached_counts_as_failed_all_the_way_down() -> None:
    made = graph([[], [0], [1], [2]], "sssf")
    assert counted(made, {0: BAD, 1: OFF, 2: OFF}) == {0: BAD, 1: BAD, 2: BAD}
    assert step_of(made, {0: BAD, 1: OFF, 2: OFF}, {2}).ready == (3,)


def test_a_branch_that_was_skipped_joins() -> None:
    # check -> ask (by a condition) -> book, which comes after both.
    made = graph([[], [0], [0, 1]], conditional="1")
    asked = step_of(made, {0: OK}, {0}, unmet={1})
    assert (asked.off, asked.ready) == ((1,), (2,))
    assert step_of(made, {0: OK}, {0}).ready == (1,)


def test_only_what_follows_from_an_end_is_ready_and_all_of_it_without_one() -> None:
    fan = graph([[], [0], [0], [1, 2]])
    assert step_of(fan, {0: OK}, {0}).ready == (1, 2)
    assert step_of(fan, {0: OK, 1: OK}, {1}).ready == ()
    assert step_of(fan, {0: OK, 1: OK}, None).ready == (2,)
    assert step_of(fan, {0: OK, 1: OK, 2: OK}, {2}).ready == (3,)
    last = step_of(fan, dict.fromkeys(range(4), OK), {3})
    assert last.is_over
    assert (last.off, last.ready) == ((), ())


def test_a_run_has_failed_if_a_node_counts_as_failed_whoever_handles_it() -> None:
    made = graph([[], [0], [0]], "sfs", optional="2")
    assert succeeds(made, {0: OK, 1: OFF, 2: BAD}, is_stopped=False)
    assert not succeeds(made, {0: OK, 1: OFF, 2: BAD}, is_stopped=True)
    assert not succeeds(made, {0: BAD, 1: OK, 2: OFF}, is_stopped=False)


def test_the_parent_because_of_which_a_node_does_not_run_is_told() -> None:
    made = graph([[], [], [0, 1], [0], [0, 1]], "sssfe")
    assert because(made, {0: OK, 1: BAD}, 2) == 1
    assert because(made, {0: OFF, 1: OFF}, 2) == 0
    assert because(made, {0: OK, 1: OFF}, 2) is None
    assert because(made, {0: OK, 1: OK}, 3) is None


@pytest.mark.parametrize(
    ("after", "circle"),
    [
        ({"a": ["b"], "b": ["a"]}, "a -> b -> a"),
        ({"a": ["a"]}, "a -> a"),
        ({"a": [], "b": ["a"], "c": ["a", "b"]}, None),
        ({"a": ["c"], "b": ["a"], "c": ["b"], "d": ["c"]}, "a -> b -> c -> a"),
        ({"s": [], "a": ["s", "c"], "b": ["a"], "c": ["b"]}, "a -> b -> c -> a"),
        ({"a": ["nobody"]}, None),
    ],
)
def test_a_circle_is_told_with_its_path(after: dict[str, list[str]], circle: str | None) -> None:
    found = circle_in(after)
    assert (None if found is None else " -> ".join(found)) == circle


def test_a_circle_of_a_hundred_nodes_is_found() -> None:
    after = {str(index): [str((index + 1) % 100)] for index in range(100)}
    found = circle_in(after)
    assert found is not None
    assert len(found) == 101
    assert all(parent in after[child] for parent, child in pairwise(found))


def test_ancestors_are_all_that_comes_before() -> None:
    after = {"a": [], "b": ["a"], "c": ["b", "a"], "d": ["x", "d"]}
    assert ancestors_of(after, "c") == {"a", "b"}
    assert ancestors_of(after, "a") == frozenset()
    assert ancestors_of(after, "d") == {"x", "d"}
    assert behind(graph([[], [0], [1], [0]]), [1]) == {1, 2}


def test_a_redrive_starts_from_what_failed_or_has_no_end() -> None:
    made = graph([[], [0], [0], [1]], "sssf", optional="2")
    assert roots_of(made, {0: OK, 1: BAD, 2: BAD, 3: OK}, ()) == {1, 2}
    assert roots_of(made, {0: OK, 1: OK, 2: OK}, ()) == {3}
    assert roots_of(made, {0: OK, 1: OK, 2: OK, 3: OFF}, (0,)) == {0}
    # What was not reached counts as failed.
    assert roots_of(graph([[], [0]]), {0: BAD, 1: OFF}, ()) == {0, 1}


def test_a_graph_is_made_of_nodes_and_survives_its_bytes() -> None:
    nodes = {
        "late": Node(target=TARGET, after=("first", "other"), when="ended", optional=True),
        "first": Node(target=TARGET),
        "other": Node(target=TARGET, after=("first",), conditions=(Condition("/input", is_=(1,)),)),
    }
    made = graph_of(nodes)
    assert made == graph([[1, 2], [], [1]], "ess", optional="0", conditional="2")
    assert decoded(made.encoded()) == made
    assert order_of(made) == (1, 2, 0)


@given(st.binary(max_size=40))
def test_any_bytes_are_a_graph_or_refused(raw: bytes) -> None:
    try:
        made = decoded(raw)
    except ValueError:
        return
    assert made.encoded() == raw or any(one & 0xF0 for one in raw)
    assert sorted(order_of(made)) == list(range(made.size))


def random_graph(source: random.Random) -> Graph:
    """Up to 12 nodes of all rules. The index of a node tells nothing of its place."""
    size = source.randrange(1, 13)
    shuffled = source.sample(range(size), size)
    parents: list[list[int]] = [[] for _ in range(size)]
    for place, index in enumerate(shuffled):
        parents[index] = source.sample(shuffled[:place], min(place, source.choice((0, 1, 1, 2, 3))))
    when = "".join(source.choice("ssssfe") if some else "s" for some in parents)
    return graph(parents, when, optional="".join(str(index) for index in range(size) if source.random() < 0.2))


def evaluated(made: Graph, fates: Mapping[int, Mark], unmet: set[int]) -> dict[int, Mark]:
    """The marks of a run by one walk from parents to children: what each node comes to if it runs, else `off`."""
    marks: dict[int, Mark] = {}
    for index in order_of(made):
        runs = decide(made, counted(made, marks), index) == "run" and index not in unmet
        marks[index] = fates[index] if runs else "off"
    return marks


@given(st.integers(0, 2**32))
def test_any_order_and_repetition_of_outcomes_gives_the_same_decisions(seed: int) -> None:
    source = random.Random(seed)
    made = random_graph(source)
    fates: dict[int, Mark] = {index: source.choice(("ok", "ok", "bad")) for index in range(made.size)}
    unmet = {index for index in range(made.size) if source.random() < 0.15}
    expected = evaluated(made, fates, unmet)
    marks: dict[int, Mark] = {}
    released: set[int] = set()
    after: set[int] | None = None
    while True:
        # Decide until nothing is decided against any more, as a run does with each newest answer.
        while (step := step_of(made, marks, after, unmet)).off:
            marks |= dict.fromkeys(step.off, OFF)
        for index in step.ready:
            assert all(parent in marks for parent in made.parents[index])
            assert expected[index] != OFF
        released |= set(step.ready)
        if step.is_over:
            break
        open_ = sorted(released - marks.keys())
        assert open_, "a run that is not over has a node that runs"
        # Some end together; an end that is told again changes nothing.
        ended = source.sample(open_, source.randrange(1, len(open_) + 1))
        again = source.sample(sorted(marks), source.randrange(len(marks) + 1)) if source.random() < 0.3 else []
        marks |= {index: fates[index] for index in ended}
        after = {*ended, *again}
    assert marks == expected
