"""The contract of `ports.Executions.indexed`: the index of what has ended of clients that asked for it."""

from __future__ import annotations

from collections import Counter

import pytest

from clockwork.domain.executions import NO_END, End, Execution, State
from clockwork.domain.storage.runs_index import Place
from clockwork.ports import Executions
from tests.contract.examples import DUE, JOB, execution
from tests.contract.test_executions import changed, dead_one, save
from tests.contract.worlds import AwsWorld, World
from tests.support.examples import like


@pytest.fixture
def executions(world: World) -> Executions:
    return world.executions


def ended(due_at: int, state: State = State.SUCCEEDED, **fields: object) -> Execution:
    """The record of an execution that has ended, in the index."""
    return like(execution(due_at=due_at), state=state, claim=None, end=End(indexed=True), **fields)


def place_of(record: Execution) -> Place:
    return Place(record.attention_key, record.job_id, record.execution_id, record.state)


def pages_of(executions: Executions, client_id: str, limit: int) -> list[Place]:
    """All places, page by page: each page has one at least, and no more than were asked for."""
    found, behind = list[Place](), None
    while True:
        page = executions.indexed(client_id, limit, behind)
        assert len(page.places) <= limit
        found += page.places
        if (behind := page.next_before) is None:
            return found
        assert page.places


def test_what_has_ended_is_listed_the_latest_due_first_in_any_state(executions: Executions) -> None:
    kinds = [State.SUCCEEDED, State.DEAD, State.CANCELLED, State.EXPIRED, State.SKIPPED]
    records = [ended(DUE + number, state) for number, state in enumerate(kinds)]
    executions.save([(None, one) for one in records])
    assert pages_of(executions, "acme", 100) == [place_of(one) for one in reversed(records)]
    assert executions.indexed("globex", 10, None).places == []


def test_only_records_that_are_indexed_are_listed(executions: Executions) -> None:
    executions.save([(None, dead_one(DUE)), (None, execution(due_at=DUE + 1))])
    assert executions.indexed("acme", 10, None).places == []


@pytest.mark.parametrize("limit", [1, 2, 7, 64])
def test_pages_come_in_one_order_and_have_each_once(executions: Executions, limit: int) -> None:
    records = [ended(DUE + number) for number in range(40)]
    executions.save([(None, one) for one in records])
    executions.save([(None, ended(DUE + 99, client_id="acme-two"))])
    assert pages_of(executions, "acme", limit) == [place_of(one) for one in reversed(records)]


def test_a_page_begins_behind_an_instant(executions: Executions) -> None:
    records = [ended(DUE + number) for number in range(4)]
    executions.save([(None, one) for one in records])
    page = executions.indexed("acme", 10, f"{DUE + 1:013d}~")
    assert list(page.places) == [place_of(one) for one in (records[1], records[0])]


def test_a_redriven_record_stays_in_its_place_with_its_new_state(executions: Executions) -> None:
    dead = like(dead_one(DUE), end=End(indexed=True))
    save(executions, None, dead)
    redriven = changed(dead, state=State.PENDING)
    save(executions, dead, redriven)
    assert list(executions.indexed("acme", 10, None).places) == [place_of(redriven)]
    assert executions.find(dead.job_id, dead.execution_id) == redriven


def test_the_runs_of_one_client_are_spread_over_eight_partitions_of_the_index(aws_world: AwsWorld) -> None:
    """One partition takes a thousand writes a second, and refuses those of every client's records beyond."""
    aws_world.executions.save([(None, ended(DUE + number)) for number in range(160)])
    listed = Counter(item["runsClientId"]["S"] for item in aws_world.raw("executions"))
    assert len(listed) == 8
    assert max(listed.values()) < 2 * 160 / 8


def test_a_record_that_is_not_indexed_has_no_attribute_of_the_index(aws_world: AwsWorld) -> None:
    """An attribute would be a second write, for each execution of every client."""
    aws_world.executions.save([(None, like(ended(DUE), end=NO_END)), (None, dead_one(DUE + 1))])
    names = {name for item in aws_world.raw("executions") for name in item}
    assert not [name for name in names if name.startswith("runs")]


def test_a_place_whose_state_is_damaged_is_listed_without_one(aws_world: AwsWorld) -> None:
    record = ended(DUE)
    save(aws_world.executions, None, record)
    aws_world.aws.client("dynamodb").update_item(
        TableName=aws_world.table("executions"),
        Key={"jobId": {"S": JOB.job_id}, "executionId": {"S": record.execution_id}},
        UpdateExpression="SET #s = :n",
        ExpressionAttributeNames={"#s": "state"},
        ExpressionAttributeValues={":n": {"N": "1"}},
    )
    (found,) = aws_world.executions.indexed("acme", 10, None).places
    assert (found.execution_id, found.state) == (record.execution_id, "")
