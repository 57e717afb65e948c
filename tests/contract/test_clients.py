"""The contract of `ports.Clients`."""

from __future__ import annotations

from functools import partial

import msgspec
import pytest

from clockwork.domain.clients import ADMINS, Client
from clockwork.ports import Clients
from tests.contract.races import at_once
from tests.contract.worlds import AwsWorld, World

ALICE, BOB, CAROL = (f"arn:aws:iam::123456789012:user/{name}" for name in ("alice", "bob", "carol"))
ACME = Client(
    client_id="acme",
    principals=(ALICE, BOB),
    record="none",
    signing_secrets=("clockwork/acme",),
    allowed_queue_arns=("arn:aws:sqs:us-east-1:123456789012:orders",),
    allowed_private_targets=("localhost:8080",),
)


@pytest.fixture
def clients(world: World) -> Clients:
    return world.clients


def test_a_client_is_read_as_it_was_put(clients: Clients) -> None:
    clients.put(ACME)
    assert clients.get("acme") == ACME


def test_an_unknown_client_is_none(clients: Clients) -> None:
    clients.put(ACME)
    assert clients.get("another") is None


def test_a_put_replaces_the_whole_client(clients: Clients) -> None:
    clients.put(ACME)
    clients.put(Client(client_id="acme"))
    assert clients.get("acme") == Client(client_id="acme")


def test_the_same_put_again_is_no_error(clients: Clients) -> None:
    clients.put(ACME)
    clients.put(ACME)
    assert clients.of_principal(ALICE) == ["acme"]


def test_only_the_revision_that_was_read_is_replaced(clients: Clients) -> None:
    first = msgspec.structs.replace(ACME, revision=1)
    assert clients.put(first, replaces=0)
    assert not clients.put(Client(client_id="acme", revision=1), replaces=0)
    assert clients.put(msgspec.structs.replace(ACME, revision=2, paused=True), replaces=1)
    assert not clients.put(msgspec.structs.replace(ACME, revision=2), replaces=1)
    assert clients.get("acme") == msgspec.structs.replace(ACME, revision=2, paused=True)


def test_a_put_whose_answer_was_lost_is_done_when_it_is_repeated(clients: Clients) -> None:
    first = msgspec.structs.replace(ACME, revision=1)
    assert [clients.put(first, replaces=0) for _ in range(2)] == [True, True]


def test_of_several_that_replace_one_revision_at_once_one_does(clients: Clients) -> None:
    clients.put(ACME)
    wanted = [msgspec.structs.replace(ACME, revision=1, pause_reason=str(number)) for number in range(3)]
    won = at_once(*(partial(clients.put, client, replaces=0) for client in wanted))
    assert won.count(True) == 1
    assert clients.get("acme") == wanted[won.index(True)]


def test_a_principal_may_act_for_several_clients(clients: Clients) -> None:
    clients.put(ACME)
    clients.put(Client(client_id="umbrella", principals=(ALICE,)))
    assert sorted(clients.of_principal(ALICE)) == ["acme", "umbrella"]
    assert clients.of_principal(BOB) == ["acme"]


def test_a_principal_that_no_client_lists_acts_for_none(clients: Clients) -> None:
    clients.put(ACME)
    assert list(clients.of_principal(CAROL)) == []
    assert list(clients.of_principal("acme")) == []


def test_a_principal_that_was_dropped_no_longer_finds_the_client_and_one_that_was_added_does(clients: Clients) -> None:
    clients.put(ACME)
    clients.put(Client(client_id="umbrella", principals=(ALICE,)))
    clients.put(msgspec.structs.replace(ACME, principals=(BOB, CAROL)))
    assert clients.of_principal(ALICE) == ["umbrella"]
    assert clients.of_principal(BOB) == ["acme"]
    assert clients.of_principal(CAROL) == ["acme"]


def test_two_puts_of_a_client_at_once_leave_the_principals_of_one_of_them(clients: Clients) -> None:
    wanted = [msgspec.structs.replace(ACME, principals=principals) for principals in ((ALICE, BOB), (CAROL,), (BOB,))]
    for _ in range(10):
        at_once(*(partial(clients.put, client) for client in wanted))
        stored = clients.get("acme")
        assert stored in wanted
        assert {p for p in (ALICE, BOB, CAROL) if clients.of_principal(p)} == set(stored.principals)


@pytest.mark.parametrize("limit", [1, 2, 3, 100])
def test_all_clients_are_listed_once_whatever_the_page(world: World, limit: int) -> None:
    client_ids = {f"client-{number}" for number in range(5)}
    for client_id in client_ids:
        world.clients.put(Client(client_id=client_id, principals=(ALICE, BOB)))
    # Regulation keeps rows of its own beside the clients.
    world.regulation.count_created("client-1", 1, 1, 10)
    world.regulation.note_parked("client-2", 1)
    seen: list[str] = []
    behind: str | None = None
    while True:
        page = world.clients.list(limit, behind)
        assert len(page) <= limit
        seen += [client_id for client_id, _ in page]
        assert all(client == world.clients.get(client_id) for client_id, client in page)
        if len(page) < limit:
            break
        behind = page[-1][0]
    assert sorted(seen) == sorted(client_ids)


def test_nobody_is_an_admin_until_the_deployment_names_some(world: World) -> None:
    assert world.clients.admins() == frozenset()
    world.clients.name_admins([ALICE, BOB])
    assert world.clients.admins() == {ALICE, BOB}
    world.clients.name_admins([BOB])
    assert world.clients.admins() == {BOB}
    world.clients.name_admins([])
    assert world.clients.admins() == frozenset()


def test_admins_are_no_clients(world: World) -> None:
    world.clients.name_admins([ALICE])
    assert world.clients.list(10, None) == []
    assert world.clients.of_principal(ALICE) == []


def test_a_thousand_admins_are_kept(world: World) -> None:
    many = [f"arn:aws:iam::123456789012:role/Admin{number}" for number in range(1_000)]
    world.clients.name_admins(many)
    assert world.clients.admins() == set(many)


def test_a_row_of_admins_that_nobody_can_read_names_nobody_and_is_told(aws_world: AwsWorld) -> None:
    told: list[Exception] = []
    aws_world.aws.on_unreadable = told.append
    aws_world.clients.name_admins([ALICE])
    key = {"clientId": {"S": ADMINS}, "item": {"S": "admins"}}
    damaged = {**key, "principals": {"N": "7"}}
    aws_world.aws.client("dynamodb").put_item(TableName=aws_world.table("clients"), Item=damaged)
    assert aws_world.clients.admins() == frozenset()
    assert len(told) == 1
