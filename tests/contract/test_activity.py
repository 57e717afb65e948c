"""The contract of `ports.Activity`: the notes of what environments counted, hour by hour."""

from __future__ import annotations

import msgspec

from clockwork.domain.errors import Unreadable
from clockwork.domain.requests.activity import HOUR_MS, MINUTE_MS, Counts, Tally
from tests.contract.worlds import AwsWorld, World
from tests.support.examples import NOW

HOUR_AT = NOW - NOW % HOUR_MS
FIRST = Counts(
    minute_at=HOUR_AT,
    part=3,
    noted_at=HOUR_AT + 70_000,
    by="env-1",
    clients={"acme": Tally(started=3, dead=1, late={4: 2, 25: 1}, waited={"cap": 90}), "globex": Tally(skipped=9)},
)


def test_the_notes_of_an_hour_come_with_the_latest_minutes_first(world: World) -> None:
    later = msgspec.structs.replace(FIRST, minute_at=HOUR_AT + 59 * MINUTE_MS)
    other = msgspec.structs.replace(FIRST, by="env-0")
    again = msgspec.structs.replace(FIRST, noted_at=FIRST.noted_at + 5_000)
    world.activity.note(msgspec.structs.replace(FIRST, part=4))
    for note in (FIRST, later, other, again, msgspec.structs.replace(FIRST, minute_at=HOUR_AT + HOUR_MS)):
        world.activity.note(note)
    assert list(world.activity.list(3, HOUR_AT, HOUR_AT, 10)) == [later, again, FIRST, other]
    assert list(world.activity.list(3, HOUR_AT, HOUR_AT, 2)) == [later, again]
    assert list(world.activity.list(3, HOUR_AT, HOUR_AT + 1, 10)) == [later]
    assert list(world.activity.list(3, HOUR_AT - HOUR_MS, 0, 10)) == []


def test_a_note_that_is_written_twice_is_there_once(world: World) -> None:
    world.activity.note(FIRST)
    world.activity.note(FIRST)
    assert list(world.activity.list(3, HOUR_AT, HOUR_AT, 10)) == [FIRST]


def test_a_note_that_cannot_be_read_is_told_beside_the_others(aws_world: AwsWorld) -> None:
    whole = msgspec.structs.replace(FIRST, by="env-0")
    aws_world.activity.note(FIRST)
    aws_world.activity.note(whole)
    aws_world.aws.client("dynamodb").update_item(
        TableName=aws_world.table("executions"),
        Key={"jobId": {"S": f"activity/3/{HOUR_AT:013d}"}, "executionId": {"S": FIRST.name}},
        UpdateExpression="SET #counts = :counts",
        ExpressionAttributeNames={"#counts": "counts"},
        ExpressionAttributeValues={":counts": {"B": b"\x01garbage"}},
    )
    damaged, found = aws_world.activity.list(3, HOUR_AT, HOUR_AT, 10)
    assert isinstance(damaged, Unreadable)
    assert found == whole
