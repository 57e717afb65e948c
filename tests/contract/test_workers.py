"""The contract of `ports.Workers`: what each pool has heard of its workers."""

from __future__ import annotations

import msgspec

from clockwork.domain.errors import Unreadable
from clockwork.domain.pools.presence import HOUR_MS, Present
from tests.contract.worlds import AwsWorld, World
from tests.support.examples import NOW

FIRST = Present(pool="etl", worker_id="host-1", seen_at=NOW, running=("a.1.0", "b.1.0"), started_late_ms=40)


def named(one: Present | Unreadable) -> str:
    assert isinstance(one, Present)
    return one.worker_id


def test_a_worker_is_told_as_it_was_noted_last_in_an_hour(world: World) -> None:
    later = msgspec.structs.replace(FIRST, seen_at=NOW + 1, running=())
    for seen in (FIRST, later, msgspec.structs.replace(FIRST, worker_id="host-0")):
        world.workers.note(seen)
    world.workers.note(msgspec.structs.replace(FIRST, pool="et"))
    assert list(world.workers.list("etl", 10)) == [later, msgspec.structs.replace(FIRST, worker_id="host-0")]
    assert list(world.workers.list("et", 10)) == [msgspec.structs.replace(FIRST, pool="et")]
    assert list(world.workers.list("gone", 10)) == []


def test_of_many_notes_those_of_the_latest_hours_are_listed_whatever_the_names(world: World) -> None:
    ages = {"a": 0, "b": 2, "z": 1, "0": 3, "~": 4}
    for worker_id, hours in ages.items():
        world.workers.note(msgspec.structs.replace(FIRST, worker_id=worker_id, seen_at=NOW - hours * HOUR_MS))
    assert [named(one) for one in world.workers.list("etl", 10)] == sorted(ages, key=lambda one: ages[one])
    assert [named(one) for one in world.workers.list("etl", 2)] == ["a", "z"]
    world.workers.note(msgspec.structs.replace(FIRST, worker_id="~"))
    assert [named(one) for one in world.workers.list("etl", 10)] == ["~", "a", "z", "b", "0", "~"]


def test_a_note_that_cannot_be_read_is_told_beside_the_others(aws_world: AwsWorld) -> None:
    for worker_id in ("host-0", "host-1"):
        aws_world.workers.note(msgspec.structs.replace(FIRST, worker_id=worker_id))
    key = {"jobId": {"S": "seen/etl"}, "executionId": {"S": f"{FIRST.hour:013d}/host-1/"}}
    aws_world.aws.client("dynamodb").update_item(
        TableName=aws_world.table("executions"),
        Key=key,
        UpdateExpression="SET #seen = :seen",
        ExpressionAttributeNames={"#seen": "seen"},
        ExpressionAttributeValues={":seen": {"B": b"\x01garbage"}},
    )
    damaged, whole = aws_world.workers.list("etl", 10)
    assert isinstance(damaged, Unreadable)
    assert named(whole) == "host-0"
