"""The contract of `ports.Operations`."""

from __future__ import annotations

from functools import partial
from typing import Any

import msgspec
import pytest

from clockwork.aws.stores.table import Table
from clockwork.domain.errors import Unavailable, Undecodable
from clockwork.domain.requests.operations import Kind, Meant, Open, Operation, Passed, Stage, ended
from clockwork.ports import Operations
from tests.contract.examples import DUE
from tests.contract.races import at_once
from tests.contract.worlds import AwsWorld, World

FIRST, SECOND, THIRD = (f"{DUE + number:013d}-{'x' * 22}" for number in range(3))
MADE = Operation(
    client_id="acme",
    operation_id=FIRST,
    kind=Kind.REDRIVE_DEAD,
    meant=Meant(prefix="a", from_at=1, to_at=2),
    made_at=DUE,
    made_by="arn:aws:iam::123456789012:role/alice",
    max_per_second=20.0,
    expires_at=DUE,
)


@pytest.fixture
def operations(world: World) -> Operations:
    return world.operations


def numbered(operation_id: str, client_id: str = "acme") -> Operation:
    return msgspec.structs.replace(MADE, operation_id=operation_id, client_id=client_id)


def test_a_record_is_read_as_it_was_saved_and_there_is_none_before(operations: Operations) -> None:
    assert operations.find("acme", FIRST) is None
    whole = msgspec.structs.replace(
        MADE,
        stage=Stage.STOPPED,
        cursor="0001#é",
        passed=(Passed("a", "b"),),
        lease="t",
        ended_at=DUE,
    )
    assert operations.save(None, whole)
    assert operations.find("acme", FIRST) == whole
    assert operations.find("other", FIRST) is None


def test_a_record_is_replaced_at_its_revision_alone_and_a_repeat_counts(operations: Operations) -> None:
    after = msgspec.structs.replace(MADE, revision=2, changed=5)
    assert not operations.save(MADE, after)
    assert operations.save(None, MADE)
    assert not operations.save(None, after)
    assert operations.save(None, MADE)
    assert operations.save(MADE, after)
    assert operations.save(MADE, after)
    assert not operations.save(MADE, msgspec.structs.replace(MADE, revision=2, changed=6))
    assert operations.find("acme", FIRST) == after


def test_a_list_has_the_newest_first_page_by_page_and_those_of_one_client(operations: Operations) -> None:
    for one in (SECOND, FIRST, THIRD):
        operations.save(None, numbered(one))
    operations.save(None, numbered(SECOND, "other"))
    assert [one for one, _ in operations.list("acme", 2, None)] == [THIRD, SECOND]
    assert operations.list("acme", 2, SECOND) == [(FIRST, numbered(FIRST))]
    assert operations.list("acme", 5, FIRST) == []


def test_a_list_of_open_ones_is_replaced_as_it_was_read_alone(operations: Operations) -> None:
    nothing, one = Open("acme"), Open("acme", {FIRST: DUE})
    assert operations.open_of("acme") == nothing
    assert operations.put_open(nothing, one)
    assert operations.put_open(nothing, one)  # an answer was lost
    two = Open("acme", {FIRST: DUE, SECOND: DUE})
    assert not operations.put_open(nothing, Open("acme", {SECOND: DUE}))
    assert operations.put_open(one, two)
    assert not operations.put_open(one, nothing)
    assert operations.open_of("acme") == two
    assert operations.put_open(Open("client"), Open("client", {THIRD: DUE}))
    assert sorted(operations.open(), key=lambda each: each.client_id) == [two, Open("client", {THIRD: DUE})]


def test_an_empty_list_is_not_kept(operations: Operations) -> None:
    one = Open("acme", {FIRST: DUE})
    operations.put_open(Open("acme"), one)
    assert operations.put_open(one, Open("acme"))
    assert operations.put_open(one, Open("acme"))
    assert list(operations.open()) == []
    assert operations.open_of("acme") == Open("acme")


def test_of_two_that_change_at_once_one_wins(operations: Operations) -> None:
    operations.save(None, MADE)
    afters = [msgspec.structs.replace(MADE, revision=2, lease=name) for name in "abcd"]
    answers = at_once(*(partial(operations.save, MADE, after) for after in afters))
    assert sorted(answers) == [False, False, False, True]


def test_what_no_version_wrote_stands_apart(aws_world: AwsWorld) -> None:
    table = aws_world.aws.client("dynamodb")
    key = {"clientId": {"S": "acme"}, "item": {"S": "operation#" + FIRST}}
    damaged = {**key, "operation": {"B": b"\x01\xc1"}, "revision": {"N": "1"}}
    table.put_item(TableName=aws_world.table("clients"), Item=damaged)
    operations = aws_world.operations
    operations.save(None, numbered(SECOND))
    assert isinstance(operations.find("acme", FIRST), Undecodable)
    assert [(one, type(each)) for one, each in operations.list("acme", 5, None)] == [
        (SECOND, Operation),
        (FIRST, Undecodable),
    ]


DAMAGED_LISTS: dict[str, dict[str, Any]] = {
    "damaged": {"open": {"B": b"\x01\xc1"}},
    "text": {"open": {"S": "acme"}},
    "nothing": {},
    "another client's": {"open": {"B": msgspec.msgpack.encode(Open("other", {THIRD: DUE}))}},
}


def damage_list(aws_world: AwsWorld, how: str) -> None:
    item = {"clientId": {"S": "#operations"}, "item": {"S": "of#acme"}, **DAMAGED_LISTS[how]}
    aws_world.aws.client("dynamodb").put_item(TableName=aws_world.table("clients"), Item=item)


@pytest.mark.parametrize("how", DAMAGED_LISTS)
@pytest.mark.parametrize("asks", ["sweep", "api"])
def test_a_list_that_cannot_be_read_is_made_anew_from_the_records(aws_world: AwsWorld, how: str, asks: str) -> None:
    """Otherwise the operations that run would never go on: sweeps find them by the list alone."""
    operations = aws_world.operations
    operations.save(None, numbered(FIRST))
    operations.save(None, ended(numbered(SECOND), Stage.DONE, DUE))
    damage_list(aws_world, how)
    made = Open("acme", {FIRST: 0})
    assert (operations.open() if asks == "sweep" else [operations.open_of("acme")]) == [made]
    assert operations.open() == [made]
    assert operations.put_open(made, Open("acme", {FIRST: 0, THIRD: DUE}))


@pytest.mark.parametrize("how", DAMAGED_LISTS)
def test_a_list_that_cannot_be_read_is_gone_if_all_operations_are_over(aws_world: AwsWorld, how: str) -> None:
    damage_list(aws_world, how)
    assert list(aws_world.operations.open()) == [Open("acme")]
    assert list(aws_world.operations.open()) == []
    assert aws_world.operations.put_open(Open("acme"), Open("acme", {FIRST: DUE}))


def test_a_damaged_list_whose_records_give_no_answer_keeps_no_other_client_waiting(
    aws_world: AwsWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    operations, query_all = aws_world.operations, Table.query_all
    other = Open("other", {SECOND: DUE})
    assert operations.put_open(Open("other"), other)
    damage_list(aws_world, "damaged")

    def mute(table: Table, partition: str, *args: Any, **named: Any) -> Any:
        if partition == "acme":
            raise Unavailable("throttled")
        return query_all(table, partition, *args, **named)

    monkeypatch.setattr(Table, "query_all", mute)
    assert list(operations.open()) == [other]
