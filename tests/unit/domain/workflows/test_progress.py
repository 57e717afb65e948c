"""The set item of a run: numbers by generation, and what a new generation keeps."""

from __future__ import annotations

from msgspec.structs import replace

from clockwork.domain.workflows.progress import Marks, first_sets, number_of, opened
from tests.unit.domain.workflows.test_graph import graph

CHAIN = graph([[], [0], [1], [0]])


def test_a_run_begins_with_no_marks_under_its_generation() -> None:
    sets = first_sets("r" * 22, "job.1.0", "p000", 3, CHAIN, 9)
    assert (sets.generation, list(sets.generations), sets.stop, sets.outcomes()) == (3, [3, 3, 3, 3], 0, {})
    assert sets.nodes == CHAIN
    assert sets.number(2) == 3_002
    assert not sets.is_stopped
    assert first_sets("r" * 22, "job.1.0", "p000", 3, CHAIN, 9, stop=3).is_stopped


def test_only_marks_of_a_nodes_own_generation_count() -> None:
    sets = first_sets("r" * 22, "job.1.0", "p000", 1, CHAIN, 9)
    marks = Marks(ok=frozenset({1_000, 2_001}), bad=frozenset({1_001}), off=frozenset({1_002, 2_003}))
    found = type(sets)(**{**{name: getattr(sets, name) for name in sets.__struct_fields__}, "marks": marks})
    assert found.outcomes() == {0: "ok", 1: "bad", 2: "off"}
    assert found.has(2_001)
    assert not found.has(2_002)
    assert found.is_current(1_003)
    assert not found.is_current(2_001)
    assert not found.is_current(1_004)


def test_a_new_generation_is_of_what_starts_again_and_all_behind_it() -> None:
    sets = first_sets("r" * 22, "job.1.0", "p000", 1, CHAIN, 9_000, stop=1)
    second = opened(sets, 2, [1], 8_000)
    assert (second.generation, list(second.generations), second.expires_at) == (2, [1, 2, 2, 1], 9_000)
    # A stop names the generation that it stops.
    assert (second.stop, second.is_stopped) == (1, False)
    assert opened(second, 3, [0], 20_000).generations == bytes([3, 3, 3, 3])
    assert second.numbers([0, 1]) == {number_of(1, 0), number_of(2, 1)}


def test_a_failure_outweighs_what_else_was_added() -> None:
    sets = first_sets("r" * 22, "job.1.0", "p000", 1, CHAIN, 9)
    both = Marks(ok=frozenset({1_000}), bad=frozenset({1_000}), off=frozenset({1_000}))
    values = {name: getattr(sets, name) for name in sets.__struct_fields__} | {"marks": both}
    assert type(sets)(**values).outcomes() == {0: "bad"}


def test_the_marks_of_generations_that_nodes_have_left_go() -> None:
    sets = first_sets("r" * 22, "job.1.0", "p000", 1, CHAIN, 9)
    for generation in range(2, 256):
        marks = Marks(ok=sets.numbers([0, 3]), bad=sets.numbers([1]), off=sets.numbers([2]))
        sets = opened(replace(sets, marks=sets.marks | marks), generation, [1], 9)
    assert sets.marks == Marks(ok=frozenset({1_000, 1_003}))
    assert sets.outcomes() == {0: "ok", 3: "ok"}
