"""The contract of `ports.Trail`."""

from __future__ import annotations

import msgspec
import pytest

from clockwork.aws.capacity import CapacityMeter
from clockwork.aws.stores.requests import AwsTrail
from clockwork.domain.errors import NewerFormat, Unreadable
from clockwork.domain.requests.trail import Entry, refused
from clockwork.ports import Trail
from tests.contract.examples import DAY, DUE
from tests.contract.worlds import AwsWorld, World

ENTRY = Entry(
    client_id="acme",
    at=DUE,
    entry_id="a",
    principal="arn:aws:iam::123456789012:role/Billing",
    action="pauseJob",
    expires_at=DUE + 30 * DAY,
    job_id="nMS9h",
    job_key="nightly",
    execution_id="x",
    reason="\u202eincident 7\x1b[2J",
    asked={"waiting": "cancel", "maxPerSecond": "2.5"},
    changes=("/payload",),
)


@pytest.fixture
def trail(world: World) -> Trail:
    return world.trail


def entry(at: int, name: str, client_id: str = "acme") -> Entry:
    return msgspec.structs.replace(ENTRY, at=at, entry_id=name, client_id=client_id)


def test_an_entry_is_read_as_it_was_noted(trail: Trail) -> None:
    trail.note(ENTRY)
    found = trail.list("acme", 10, None)
    assert (found.entries, found.next_before) == ([ENTRY], None)


def test_an_entry_that_is_noted_again_is_replaced(trail: Trail) -> None:
    trail.note(ENTRY)
    trail.note(refused(ENTRY, "the job was changed meanwhile"))
    assert trail.list("acme", 10, None).entries == [refused(ENTRY, "the job was changed meanwhile")]


def test_the_newest_come_first_page_by_page_and_each_once(trail: Trail) -> None:
    noted = [entry(DUE + at, name) for at, name in ((0, "a"), (0, "b"), (5, "a"), (9, "c"), (10, "d"))]
    for one in noted:
        trail.note(one)
    seen: list[Entry | Unreadable] = []
    before, pages = None, 0
    while pages == 0 or before is not None:
        found = trail.list("acme", 2, before)
        seen += found.entries
        before, pages = found.next_before, pages + 1
    assert seen == noted[::-1]
    assert pages <= 4


def test_a_trail_is_its_clients_own(trail: Trail) -> None:
    trail.note(entry(DUE, "a"))
    trail.note(entry(DUE, "a", "acme-2"))
    assert [one.client_id for one in trail.list("acme", 10, None).entries if isinstance(one, Entry)] == ["acme"]
    assert trail.list("acm", 10, None).entries == []


def test_a_stored_entry_expires_and_is_no_record(aws_world: AwsWorld) -> None:
    aws_world.trail.note(ENTRY)
    (item,) = aws_world.raw("executions")
    assert 0 <= int(item["expiresAt"]["N"]) * 1000 - ENTRY.expires_at <= 1_000
    assert aws_world.executions.list("acme", 10, None) == []
    assert aws_world.executions.dead("acme", 10, None).executions == []


def test_an_entry_costs_one_write_unit(aws_world: AwsWorld) -> None:
    meter = CapacityMeter()
    aws, table = aws_world.connect(meter=meter), aws_world.table("executions")
    AwsTrail(aws, table).note(ENTRY)
    aws.close()
    assert meter.units == {("PutItem", table): 1}


def test_an_entry_of_a_newer_version_hides_no_other(aws_world: AwsWorld) -> None:
    for name in "abc":
        aws_world.trail.note(entry(DUE, name))
    key = {"jobId": {"S": "trail/acme"}, "executionId": {"S": entry(DUE, "b").key}}
    aws_world.aws.client("dynamodb").update_item(
        TableName=aws_world.table("executions"),
        Key=key,
        UpdateExpression="SET #entry = :entry",
        ExpressionAttributeNames={"#entry": "entry"},
        ExpressionAttributeValues={":entry": {"B": b"\x63newer"}},
    )
    found = aws_world.trail.list("acme", 10, None).entries
    assert isinstance(found[1], NewerFormat)
    assert [found[0], found[2]] == [entry(DUE, "c"), entry(DUE, "a")]
