"""The contract of `ports.Runs`."""

from __future__ import annotations

from functools import partial
from typing import Any

import msgspec
import pytest

from clockwork.domain.errors import Undecodable
from clockwork.domain.ids import run_of
from clockwork.domain.workflows.definition import When
from clockwork.domain.workflows.graph import Graph
from clockwork.domain.workflows.progress import Marks, Sets, first_sets, opened
from clockwork.ports import Runs
from tests.contract.examples import DUE
from tests.contract.races import at_once
from tests.contract.worlds import AwsWorld, World

OF = "job.1.0"
RUN = run_of(OF)
WIDE = 99
#: A root and 98 nodes behind it.
WHEN: When = "succeeded"
FAN = Graph(((), *[(0,)] * (WIDE - 1)), (WHEN,) * WIDE, (False,) * WIDE, (False,) * WIDE)
FIRST = first_sets(RUN, OF, "p000", 1, FAN, DUE)


@pytest.fixture
def runs(world: World) -> Runs:
    return world.runs


def stored(runs: Runs) -> Sets:
    (sets,) = runs.get([RUN])
    assert isinstance(sets, Sets)
    return sets


def ok(*numbers: int) -> Marks:
    return Marks(ok=frozenset(numbers))


def test_sets_are_read_as_they_were_put(runs: Runs) -> None:
    assert list(runs.get([RUN])) == [None]
    assert runs.put_new(FIRST)
    assert runs.get([RUN, "x" * 22]) == [FIRST, None]
    assert runs.get([]) == []


def test_every_field_of_the_sets_survives(runs: Runs) -> None:
    whole = msgspec.structs.replace(FIRST, generation=3, generations=bytes([1, 2, 3] * 33), stop=2)
    runs.put_new(whole)
    marks = Marks(ok=frozenset({1_000, 2_001}), bad=frozenset({3_002}), off=frozenset({1_003, 1_006}))
    runs.add(RUN, marks)
    assert stored(runs) == msgspec.structs.replace(whole, marks=marks)


def test_sets_that_are_there_stay(runs: Runs) -> None:
    runs.put_new(FIRST)
    runs.add(RUN, ok(1_000))
    assert not runs.put_new(msgspec.structs.replace(FIRST, stop=1))
    assert stored(runs) == msgspec.structs.replace(FIRST, marks=ok(1_000))


def test_an_addition_answers_with_all_that_was_added(runs: Runs) -> None:
    runs.put_new(FIRST)
    first = runs.add(RUN, ok(1_000))
    assert first == msgspec.structs.replace(FIRST, marks=ok(1_000))
    more = Marks(ok=frozenset({1_001}), bad=frozenset({1_002}), off=frozenset({1_003, 1_004}))
    again = runs.add(RUN, more)
    assert again is not None
    assert again.marks == more | ok(1_000)
    # A repeat changes nothing, and answers alike.
    assert runs.add(RUN, ok(1_000)) == again


def test_nothing_is_added_to_a_run_without_sets(runs: Runs) -> None:
    assert runs.add(RUN, ok(1_000)) is None
    assert runs.stop(RUN, 1) is None
    assert runs.open(FIRST, opened(FIRST, 2, [0], DUE)) is None
    assert list(runs.get([RUN])) == [None]


def test_a_stop_stays_whatever_was_stopped_before(runs: Runs) -> None:
    runs.put_new(FIRST)
    runs.add(RUN, ok(1_000))
    stopped = runs.stop(RUN, 2)
    assert stopped == msgspec.structs.replace(FIRST, stop=2, marks=ok(1_000))
    assert runs.stop(RUN, 2) == runs.stop(RUN, 1) == stopped


def test_a_generation_is_opened_once_and_keeps_its_stop_and_the_marks_of_nodes_that_stay(runs: Runs) -> None:
    runs.put_new(FIRST)
    runs.stop(RUN, 1)
    marks = Marks(ok=frozenset({1_000, 1_001}), bad=frozenset({1_002}), off=frozenset({1_003}))
    before = runs.add(RUN, marks)
    assert before is not None
    second = opened(before, 2, [1, 2], DUE + 60_000)
    # A mark that was added behind the read stays, whosever it is.
    runs.add(RUN, Marks(bad=frozenset({1_004})))
    left = Marks(ok=frozenset({1_000}), bad=frozenset({1_004}), off=frozenset({1_003}))
    assert runs.open(before, second) == msgspec.structs.replace(second, marks=left) == stored(runs)
    assert (second.generation, second.stop, second.marks) == (2, 1, Marks(ok=left.ok, off=left.off))
    assert second.expires_at > before.expires_at
    # Another one that read the same sets opens nothing.
    assert runs.open(before, opened(before, 2, [0], DUE)) == stored(runs)
    assert stored(runs).generations == second.generations


def test_a_generation_of_nodes_without_marks_takes_none_away(runs: Runs) -> None:
    runs.put_new(FIRST)
    before = runs.add(RUN, ok(1_000))
    assert before is not None
    second = opened(before, 2, [1], DUE)
    assert runs.open(before, second) == second == stored(runs)
    assert second.marks == ok(1_000)


def test_a_run_that_is_redriven_ever_again_has_no_more_marks_than_nodes(runs: Runs) -> None:
    runs.put_new(FIRST)
    for generation in range(2, 12):
        before = runs.add(RUN, Marks(bad=stored(runs).numbers(range(WIDE))))
        assert before is not None
        runs.open(before, opened(before, generation, range(WIDE), DUE))
    assert stored(runs).marks == Marks()


def test_of_99_additions_at_once_one_answer_alone_is_the_first_full_one(runs: Runs) -> None:
    runs.put_new(FIRST)
    answers = at_once(*(partial(runs.add, RUN, ok(1_000 + index)) for index in range(WIDE)))
    # Each sees its own addition, and all answers can be put into one order.
    sizes = sorted(len(one.marks.ok) for one in answers)
    assert sizes == list(range(1, WIDE + 1))
    assert all(1_000 + index in one.marks.ok for index, one in enumerate(answers))
    assert len(stored(runs).marks.ok) == WIDE


def test_sets_are_no_execution(world: World) -> None:
    world.runs.put_new(FIRST)
    assert list(world.executions.list(RUN, 10, None)) == []
    assert world.executions.find(RUN, "sets") is None


DAMAGES: list[dict[str, Any]] = [
    {"graph": {"B": b"\xff"}},
    {"graph": {"B": b"\x00\x00"}},
    {"generation": {"S": "x"}},
    {"generation": {"N": "9"}},
    {"generation": {"N": "0"}},
    {"generations": {"B": bytes([7, *[1] * (WIDE - 1)])}},
    {"generations": {"B": bytes(WIDE)}},
    {"ok": {"S": "x"}},
    {"run": {"NULL": True}},
    {"run": {"S": "another.1.0"}},
    {"partitionId": {"S": "x"}},
    {"partitionId": {"S": "p00"}},
    {"stop": {"M": {}}},
    {"stop": {"N": "256"}},
    {"stop": {"N": "-1"}},
]


def damaged(world: AwsWorld, damage: dict[str, Any]) -> None:
    world.runs.put_new(FIRST)
    (item,) = world.raw("executions")
    world.aws.client("dynamodb").put_item(TableName=world.table("executions"), Item={**item, **damage})


@pytest.mark.parametrize("damage", DAMAGES)
def test_sets_that_cannot_be_read_are_told(
    aws_world: AwsWorld, damage: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    damaged(aws_world, damage)
    assert isinstance(aws_world.runs.get([RUN])[0], Undecodable)
    assert "cannot be read" in caplog.text
    with pytest.raises(Undecodable):
        aws_world.runs.add(RUN, Marks(bad=frozenset({1_000})))


@pytest.mark.parametrize("damage", DAMAGES)
def test_sets_that_cannot_be_read_are_replaced_by_one_of_those_that_put_some(
    aws_world: AwsWorld, damage: dict[str, Any]
) -> None:
    damaged(aws_world, damage)
    stopped = msgspec.structs.replace(FIRST, stop=1)
    answers = at_once(*(partial(aws_world.runs.put_new, one) for one in (FIRST, stopped, FIRST, stopped)))
    assert sum(answers) == 1
    assert stored(aws_world.runs) in (FIRST, stopped)
    assert not aws_world.runs.put_new(msgspec.structs.replace(FIRST, stop=7))
    assert stored(aws_world.runs).stop < 2
