"""A client's row that cannot be read: nobody else learns of it, an admin replaces it, and what it had is delivered."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from clockwork.domain.clients import Client, ClientUnreadable, Pause
from clockwork.domain.executions import State
from clockwork.domain.storage.codec import encode
from clockwork.flows.requests.clients import change_client
from clockwork.flows.requests.create import create_jobs
from clockwork.flows.sweep.unpark import unpark
from clockwork.flows.timeline.shards import ensure_shards
from clockwork.settings import Settings
from tests.contract.test_damaged_items_in_flows import api_on, on_moto
from tests.contract.worlds import AwsWorld
from tests.crash_points.services import Services
from tests.support.examples import ACME, ADMIN, ALICE, BOB, new_job, request
from tests.support.on_moto import MotoClockwork

__all__ = ["on_moto"]  # a fixture
PAUSED = msgspec.structs.replace(
    ACME,
    revision=7,
    paused=True,
    pause_reason="a test",
    paused_at=9,
    pauses=(Pause(1, 2),),
    since_at=5,
    principals=(ALICE, BOB),
)
#: The values that an item may hold in place of a definition.
DAMAGED: list[dict[str, Any]] = [
    {},
    {"definition": {"B": b""}},
    {"definition": {"B": b"\x01\xc1"}},
    {"definition": {"B": b"\x7f" + encode(PAUSED)[1:]}},
    {"definition": {"S": "odd"}},
    {"definition": {"L": [{"N": "1"}]}},
    {"definition": {"B": encode(msgspec.structs.replace(PAUSED, client_id="globex"))}},
]


def damage(aws: Any, table: str, **attributes: Any) -> None:
    """Write the client's item anew, with these attributes in place of its definition."""
    key = {"clientId": {"S": "acme"}, "item": {"S": "client"}}
    stored = aws.client("dynamodb").get_item(TableName=table, Key=key, ConsistentRead=True)["Item"]
    stored.pop("definition", None)
    aws.client("dynamodb").put_item(TableName=table, Item={**stored, **attributes})


@pytest.mark.parametrize("attributes", DAMAGED)
def test_of_a_damaged_client_its_standing_is_left_and_a_put_replaces_it(
    aws_world: AwsWorld, attributes: dict[str, Any]
) -> None:
    clients = aws_world.clients
    clients.put(PAUSED)
    damage(aws_world.aws, aws_world.table("clients"), **attributes)
    with pytest.raises(ClientUnreadable, match="PUT /v1/clients/acme") as fault:
        clients.get("acme")
    left = msgspec.structs.replace(PAUSED, record="full")
    assert fault.value.standing == left
    repaired = msgspec.structs.replace(left, revision=8, principals=(BOB,), max_concurrency=3)
    assert not clients.put(repaired, replaces=6)
    assert clients.put(repaired, replaces=7)
    assert clients.get("acme") == repaired
    assert (clients.of_principal(ALICE), clients.of_principal(BOB)) == ([], ["acme"])
    assert clients.put(repaired, replaces=7), "the repeat of a put whose answer was lost"


@pytest.mark.parametrize("standing", [{"B": b"\x01\xc1"}, {"S": "odd"}, None])
def test_of_a_client_of_which_nothing_is_left_a_put_makes_a_new_one(
    aws_world: AwsWorld, standing: dict[str, Any] | None
) -> None:
    aws_world.clients.put(PAUSED)
    damage(aws_world.aws, aws_world.table("clients"))
    dynamodb, table = aws_world.aws.client("dynamodb"), aws_world.table("clients")
    key = {"clientId": {"S": "acme"}, "item": {"S": "client"}}
    dynamodb.put_item(TableName=table, Item=key if standing is None else {**key, "standing": standing})
    with pytest.raises(ClientUnreadable) as fault:
        aws_world.clients.get("acme")
    assert fault.value.standing == Client(client_id="acme")
    assert aws_world.clients.put(msgspec.structs.replace(ACME, revision=1), replaces=0)
    assert aws_world.clients.get("acme") == msgspec.structs.replace(ACME, revision=1)


@pytest.fixture
def clockwork(on_moto: Services) -> MotoClockwork:
    clockwork = MotoClockwork(Settings.for_local())
    clockwork.clients.name_admins([ADMIN])
    clockwork.clients.put(ACME)
    ensure_shards(clockwork.world)
    return clockwork


@pytest.fixture
def damaged(clockwork: MotoClockwork, on_moto: Services) -> Iterator[MotoClockwork]:
    clockwork.clients.put(PAUSED)
    clockwork.clients.put(Client(client_id="globex", principals=(ADMIN + "x",)))
    damage(on_moto.aws, "clients", definition={"B": b"\x01\xc1"})
    clockwork.world.clients._read.clear()  # type: ignore[attr-defined]
    yield clockwork


CALLS: list[tuple[str, str, dict[str, Any] | None]] = [
    ("GET", "/v1/clients/acme", None),
    ("GET", "/v1/clients/acme/usage", None),
    ("GET", "/v1/audit?clientId=acme", None),
    ("GET", "/v1/upcoming?clientId=acme", None),
    ("POST", "/v1/jobs", {"clientId": "acme", "delaySeconds": 60, "payload": 1, "target": {}}),
    ("GET", "/v1/jobs?clientId=acme", None),
]
FOR_ADMINS: list[tuple[str, str, dict[str, Any] | None]] = [
    ("POST", "/v1/clients/acme/pause", {}),
    ("POST", "/v1/clients/acme/resume", {}),
    ("DELETE", "/v1/clients/acme", None),
]


@pytest.mark.parametrize(("method", "path", "body"), [*CALLS, *FOR_ADMINS])
def test_an_admin_is_told_the_repair_and_another_tenant_nothing(
    damaged: MotoClockwork, method: str, path: str, body: dict[str, Any] | None
) -> None:
    api = api_on(damaged)
    path, _, query = path.partition("?")
    asked = dict([query.split("=")]) if query else None
    answer = api.call(method, path, body, caller=ADMIN, query=asked)
    assert answer.status == 503
    assert "PUT /v1/clients/acme" in answer.body["detail"]
    stranger = api.call(method, path, body, caller=ADMIN + "x", query=asked)
    unknown = {"clientId": "nobody"} if asked else None
    of_nobody = body and {**body, "clientId": "nobody"} if "clientId" in (body or {}) else body
    like = api.call(method, path.replace("acme", "nobody"), of_nobody, caller=ADMIN + "x", query=unknown)
    assert (stranger.status, stranger.body) == (like.status, like.body)
    assert stranger.status == 403


def test_whom_the_client_lists_is_told_as_well_and_a_put_keeps_what_no_request_sets(damaged: MotoClockwork) -> None:
    api = api_on(damaged)
    assert "an admin repairs it" in api.call("GET", "/v1/whoami", caller=ALICE).body["detail"]
    answer = api.call("PUT", "/v1/clients/acme", {"principals": [ALICE]}, caller=ADMIN)
    assert answer.status == 200, answer
    stored = damaged.clients.get("acme")
    assert stored is not None
    assert (stored.revision, stored.since_at, stored.pauses) == (8, 5, (Pause(1, 2),))
    assert (stored.paused, stored.pause_reason) == (True, "a test")
    assert api.call("GET", "/v1/clients/acme", caller=ALICE).status == 200
    assert api.call("GET", "/v1/clients/acme", caller=BOB).status == 403
    entries = api.call("GET", "/v1/audit", caller=ALICE).body["items"]
    assert [one["action"] for one in entries] == ["putClient"]


def test_an_admin_who_knows_another_revision_repairs_nothing(damaged: MotoClockwork) -> None:
    answer = api_on(damaged).call("PUT", "/v1/clients/acme", {}, caller=ADMIN, headers={"if-match": '"3"'})
    assert answer.status == 409
    with pytest.raises(ClientUnreadable):
        damaged.clients.get("acme")


def test_its_jobs_are_kept_while_it_is_damaged_and_delivered_after_the_repair(
    clockwork: MotoClockwork,
    on_moto: Services,
) -> None:
    jobs = [new_job(delay_ms=90_000 + n) for n in range(3)]
    (first, *_) = create_jobs(clockwork.world, request(*jobs), ["p000"])
    other = msgspec.structs.replace(request(*jobs), client=Client(client_id="globex"))
    create_jobs(clockwork.world, other, ["p000"])
    damage(on_moto.aws, "clients", definition={"B": b"\x01\xc1"})
    clockwork.world.clients._read.clear()  # type: ignore[attr-defined]
    clockwork.run_until(clockwork.clock.at + 200_000)
    delivered = clockwork.targets.delivered
    assert [one.occurrence.client_id for one in delivered] == ["globex"] * 3
    record = clockwork.executions.list(first.job_id, 1, None)[0]
    assert (record.state, record.attempts) == (State.PARKED, ())
    assert unpark(clockwork.world, clockwork.clock.at + 60_000).left == 1
    change_client(
        clockwork.world, "acme", None, lambda left: msgspec.structs.replace(ACME, since_at=left.since_at), repairs=True
    )
    unpark(clockwork.world, clockwork.clock.at + 60_000)
    clockwork.run_until(clockwork.clock.at + 300_000)
    assert sorted(one.occurrence.client_id for one in clockwork.targets.delivered) == ["acme"] * 3 + ["globex"] * 3
