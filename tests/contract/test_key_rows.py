"""The contract of `ports.KeyRows`."""

from __future__ import annotations

from functools import partial

import msgspec
import pytest

from clockwork.ports import KeyRow, KeyRows
from tests.contract.examples import DAY, DUE
from tests.contract.races import at_once
from tests.contract.worlds import AwsWorld, World

NOW = DUE
FIRST = KeyRow("acme", "order-1", "digest", NOW, "seed", "p000", NOW + DAY)
SECOND = msgspec.structs.replace(FIRST, digest="other", created_at=NOW + 1, seed="other", partition_id="p001")


@pytest.fixture
def key_rows(world: World) -> KeyRows:
    return world.key_rows


def test_a_free_key_goes_to_who_asks(key_rows: KeyRows) -> None:
    assert key_rows.claim(FIRST, NOW) == FIRST


def test_a_key_in_use_answers_with_what_the_first_promised(key_rows: KeyRows) -> None:
    key_rows.claim(FIRST, NOW)
    assert key_rows.claim(SECOND, NOW + 1) == FIRST
    assert key_rows.claim(FIRST, NOW + 2) == FIRST


def test_a_key_is_in_use_to_the_last_millisecond_and_free_from_then_on(key_rows: KeyRows) -> None:
    key_rows.claim(FIRST, NOW)
    assert key_rows.claim(SECOND, FIRST.expires_at - 1) == FIRST
    assert key_rows.claim(SECOND, FIRST.expires_at) == SECOND


def test_keys_of_two_clients_are_two_keys(key_rows: KeyRows) -> None:
    key_rows.claim(FIRST, NOW)
    other = msgspec.structs.replace(SECOND, client_id="umbrella")
    assert key_rows.claim(other, NOW) == other


@pytest.mark.parametrize("key", ["order-2", "ORDER-1", "order-1 ", "!", "~" * 255, "#/%\\\"'"])
def test_keys_are_compared_whole(key_rows: KeyRows, key: str) -> None:
    key_rows.claim(FIRST, NOW)
    other = msgspec.structs.replace(SECOND, key=key)
    assert key_rows.claim(other, NOW) == other
    assert key_rows.claim(FIRST, NOW) == FIRST


def test_of_requests_at_once_all_get_the_row_of_one(key_rows: KeyRows) -> None:
    for n in range(30):
        rows = [msgspec.structs.replace(FIRST, key=f"order-{n}", seed=f"seed-{i}") for i in range(3)]
        answers = at_once(*(partial(key_rows.claim, row, NOW) for row in rows))
        assert answers[0] in rows
        assert answers == [answers[0]] * 3


def test_a_key_row_never_stands_where_a_job_of_that_name_would(aws_world: AwsWorld) -> None:
    aws_world.key_rows.claim(FIRST, NOW)
    (item,) = aws_world.raw("jobs")
    assert item["jobKey"]["S"] < " "
    assert int(item["expiresAt"]["N"]) * 1_000 >= FIRST.expires_at


def test_a_key_row_is_stored_under_names_that_never_change(aws_world: AwsWorld) -> None:
    aws_world.key_rows.claim(msgspec.structs.replace(FIRST, expires_at=NOW + 1), NOW)
    (item,) = aws_world.raw("jobs")
    assert item == {
        "clientId": {"S": "acme"},
        "jobKey": {"S": "\x01order-1"},
        "digest": {"S": "digest"},
        "createdAt": {"N": str(NOW)},
        "seed": {"S": "seed"},
        "partitionId": {"S": "p000"},
        "expiresAt": {"N": str(NOW // 1000 + 1)},
        "expiresAtMs": {"N": str(NOW + 1)},
    }
