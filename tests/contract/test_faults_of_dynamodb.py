"""Faults of DynamoDB: the adapters' answer to refusals, lost answers and late copies."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from botocore.awsrequest import AWSPreparedRequest, AWSResponse

from clockwork.aws.plane.lean import Lean
from clockwork.aws.stores.timeline import AwsTimeline
from clockwork.domain import keys
from clockwork.domain.errors import Unavailable
from clockwork.domain.executions import State
from clockwork.ports import KeyRow
from tests.contract.examples import DAY, DUE, execution, row
from tests.contract.faults import (
    Fault,
    Wire,
    answer,
    body_of,
    broken,
    deliver,
    goes_through,
    late_copy,
    lost_answer,
    lost_request,
    throttled,
    unanswered,
    unprocessed,
)
from tests.contract.worlds import AwsWorld

pytestmark = pytest.mark.usefixtures("no_pauses_of_botocore")

NOW, UNTIL = DUE, DUE + 20_000
HORIZON = keys.edge_key(DUE + 240_000)
ROWS = [row(DUE + n) for n in range(3)]


def stored(world: AwsWorld) -> list[str]:
    return [r.key for r in world.timeline.read("p000", keys.BEGINNING, keys.edge_key(DUE + DAY), 100).rows]


def batch_wire(world: AwsWorld, *faults: Fault) -> Wire:
    """A wire between the timeline and BatchWriteItem, on the client that does not repeat requests."""
    world.timeline.read("p000", keys.BEGINNING, HORIZON, 1)
    return Wire(world.aws.client("dynamodb", 1, 5), "BatchWriteItem", faults)


@pytest.mark.parametrize("fault", [lost_answer, lost_request, broken])
def test_a_put_of_several_rows_without_a_definite_answer_is_not_sent_again(emulated: AwsWorld, fault: Fault) -> None:
    wire = batch_wire(emulated, fault)
    with pytest.raises(Unavailable):
        emulated.timeline.put(ROWS)
    assert wire.sent == 1


@pytest.mark.parametrize("fault", [throttled, unprocessed])
def test_a_put_of_several_rows_that_was_refused_is_sent_again(emulated: AwsWorld, fault: Fault) -> None:
    wire = batch_wire(emulated, fault, fault)
    emulated.timeline.put(ROWS)
    assert wire.sent == 3
    assert stored(emulated) == [r.key for r in ROWS]
    assert len(emulated.pauses) == 2


@pytest.mark.parametrize("fault", [throttled, unprocessed])
def test_a_put_that_is_refused_every_time_ends_as_unavailable(emulated: AwsWorld, fault: Fault) -> None:
    wire = batch_wire(emulated, *[fault] * 6)
    with pytest.raises(Unavailable, match="3 of 3 rows"):
        emulated.timeline.put(ROWS)
    assert wire.sent == 6
    assert stored(emulated) == []


def test_only_the_rows_that_were_not_written_are_sent_again(emulated: AwsWorld) -> None:
    def last_row_unprocessed(request: AWSPreparedRequest) -> AWSResponse | None:
        ((table, puts),) = body_of(request)["RequestItems"].items()
        return answer(200, {"UnprocessedItems": {table: puts[-1:]}})(request)

    wire = batch_wire(emulated, last_row_unprocessed)
    emulated.timeline.put(ROWS)
    (table,) = wire.bodies[0]["RequestItems"]
    sent = [[put["PutRequest"]["Item"] for put in body["RequestItems"][table]] for body in wire.bodies]
    assert [[item["scheduleTime"]["S"] for item in items] for items in sent] == [
        [r.key for r in ROWS],
        [ROWS[2].key],
    ]
    assert stored(emulated) == [ROWS[2].key]


def test_a_put_of_one_row_is_sent_again_and_a_late_copy_does_not_undo_a_cancel(emulated: AwsWorld) -> None:
    only = ROWS[0]
    late: list[AWSPreparedRequest] = []
    wire = Wire(emulated.aws.client("dynamodb"), "PutItem", [late_copy(late)])
    emulated.timeline.put([only])
    assert wire.sent == 2
    assert emulated.timeline.cancel("p000", only.key, 0)
    assert [deliver(request) for request in late] == [400]
    (found,) = emulated.timeline.find([("p000", only.key)])
    assert found is not None
    assert found.cancelled == {0}


def test_keys_that_went_unanswered_are_asked_for_again(emulated: AwsWorld) -> None:
    emulated.timeline.put(ROWS)

    wire = Wire(emulated.aws.client("dynamodb"), "BatchGetItem", [unanswered, unanswered])
    assert emulated.timeline.find([("p000", r.key) for r in ROWS]) == ROWS
    assert wire.sent == 3


def test_keys_that_are_never_answered_are_not_taken_for_missing(emulated: AwsWorld) -> None:
    emulated.timeline.put(ROWS)

    Wire(emulated.aws.client("dynamodb"), "BatchGetItem", [unanswered] * 6)
    with pytest.raises(Unavailable, match="3 of 3 keys"):
        emulated.timeline.find([("p000", r.key) for r in ROWS])


@pytest.mark.parametrize("fault", [throttled, broken, lost_request])
def test_a_read_without_an_answer_is_unavailable_after_three_attempts(emulated: AwsWorld, fault: Fault) -> None:
    emulated.timeline.put(ROWS)
    wire = Wire(emulated.aws.client("dynamodb"), "Query", [fault] * 3)
    with pytest.raises(Unavailable):
        emulated.timeline.read("p000", keys.BEGINNING, HORIZON, 1)
    assert wire.sent == 3


def test_a_service_that_cannot_be_reached_is_unavailable(emulated: AwsWorld) -> None:
    nowhere = emulated.connect(endpoint_url="http://127.0.0.1:9")
    with pytest.raises(Unavailable):
        AwsTimeline(nowhere, "any").put(ROWS)
    nowhere.close()


@pytest.mark.parametrize("behind_ms", [0, 5_000], ids=["clock right", "clock behind"])
def test_a_lease_whose_answer_was_lost_is_had_and_only_once(emulated: AwsWorld, behind_ms: int) -> None:
    shards = emulated.shards
    shards.register("p000")
    first = shards.acquire("p000", "one", NOW, UNTIL, HORIZON)
    assert first is not None
    assert shards.commit(msgspec.structs.replace(first, until=0))
    faults: list[Fault] = [goes_through, lost_answer] if behind_ms else [lost_answer]
    Wire(emulated.aws.client("dynamodb"), "UpdateItem", faults)
    horizon = keys.edge_key(DUE + 240_000 - behind_ms)
    lease = shards.acquire("p000", "two", NOW - behind_ms, UNTIL - behind_ms, horizon)
    assert lease is not None
    assert (lease.epoch, lease.until, lease.horizon) == (2, UNTIL - behind_ms, HORIZON)
    assert shards.get(["p000"])["p000"].epoch == 2


def test_a_commit_whose_answer_was_lost_counts(emulated: AwsWorld) -> None:
    emulated.shards.register("p000")
    lease = emulated.shards.acquire("p000", "one", NOW, UNTIL, HORIZON)
    assert lease is not None
    Wire(emulated.aws.client("dynamodb"), "UpdateItem", [lost_answer])
    assert emulated.shards.commit(msgspec.structs.replace(lease, cursor=HORIZON, until=0))
    assert emulated.shards.get(["p000"])["p000"].cursor == HORIZON


def test_a_commit_that_arrives_after_a_later_one_moves_nothing_back(emulated: AwsWorld) -> None:
    late: list[AWSPreparedRequest] = []
    emulated.shards.register("p000")
    lease = emulated.shards.acquire("p000", "one", NOW, UNTIL, HORIZON)
    assert lease is not None
    Wire(emulated.aws.client("dynamodb"), "UpdateItem", [late_copy(late)])
    first = msgspec.structs.replace(lease, cursor=keys.edge_key(NOW))
    second = msgspec.structs.replace(lease, cursor=keys.edge_key(NOW + 1), horizon=keys.edge_key(DUE + 300_000))
    assert emulated.shards.commit(first)
    assert emulated.shards.commit(second)
    assert [deliver(request) for request in late] == [400]
    shard = emulated.shards.get(["p000"])["p000"]
    assert (shard.cursor, shard.horizon) == (second.cursor, second.horizon)


def test_a_record_whose_answer_was_lost_is_stored(emulated: AwsWorld) -> None:
    claim = execution()
    done = msgspec.structs.replace(claim, state=State.SUCCEEDED, revision=2)
    Wire(emulated.aws.client("dynamodb"), "PutItem", [lost_answer, goes_through, lost_answer])
    assert emulated.executions.save([(None, claim)])[0].ok
    assert emulated.executions.save([(claim, done)])[0].ok
    assert emulated.executions.find(claim.job_id, claim.execution_id) == done


def test_a_record_that_could_not_be_stored_is_reported_beside_those_that_could(emulated: AwsWorld) -> None:
    first, second = execution(), execution(due_at=DUE + 1)

    def refuse_second(request: AWSPreparedRequest) -> AWSResponse | None:
        is_second = body_of(request)["Item"]["executionId"]["S"] == second.execution_id
        return throttled(request) if is_second else None

    Wire(emulated.aws.client("dynamodb"), "PutItem", [refuse_second] * 4)
    saved = emulated.executions.save([(None, first), (None, second)])
    assert saved[0].ok
    assert (saved[1].ok, saved[1].actual) == (False, None)
    assert "Throughput" in (saved[1].unavailable or "")


def test_a_key_row_whose_answer_was_lost_is_ours(emulated: AwsWorld) -> None:
    key_row = KeyRow("acme", "order-1", "digest", NOW, "seed", "p000", NOW + DAY)
    Wire(emulated.aws.client("dynamodb"), "PutItem", [lost_answer])
    assert emulated.key_rows.claim(key_row, NOW) == key_row


def test_an_empty_page_with_a_key_to_go_on_from_is_not_the_end(
    emulated: AwsWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    emulated.timeline.put(ROWS)
    first = execution()
    assert emulated.executions.save([(None, first)])[0].ok
    call, empty = Lean.call, []

    def empty_at_first(plane: Lean, operation: str, **asked: Any) -> Any:
        page = call(plane, operation, **asked)
        if operation != "Query" or "ExclusiveStartKey" in asked or not page["Items"]:
            return page
        empty.append(asked["TableName"])
        partition, sort = (
            ("partitionId", "scheduleTime") if "scheduleTime" in page["Items"][0] else ("jobId", "executionId")
        )
        before = {
            partition: page["Items"][0][partition],
            sort: {"S": keys.edge_key(DUE - 1) if sort == "scheduleTime" else "~"},
        }
        return {"Items": [], "LastEvaluatedKey": before}

    monkeypatch.setattr(Lean, "call", empty_at_first)
    page = emulated.timeline.read("p000", keys.BEGINNING, HORIZON, 2)
    assert ([one.key for one in page.rows], page.more) == ([one.key for one in ROWS[:2]], True)
    assert emulated.executions.list(first.job_id, 10, None) == [first]
    assert len(empty) == 2
