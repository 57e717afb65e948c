"""The contract of `ports.SigningSecrets`: whether a secret exists, and a store that cannot tell is Unavailable."""

from __future__ import annotations

from typing import Any

import pytest
from botocore.exceptions import EndpointConnectionError

from clockwork.domain.errors import Unavailable
from tests.contract.worlds import AwsWorld, World

NAMES = ["clockwork/acme", "ssm:/clockwork/acme"]
SERVICES = {"clockwork/acme": "secrets-manager", "ssm:/clockwork/acme": "ssm"}


@pytest.mark.parametrize("name", NAMES)
def test_a_secret_exists_from_when_it_is_stored_until_it_is_deleted(world: World, name: str) -> None:
    assert not world.signing_secrets.exists(name)
    world.add_secret(name)
    assert world.signing_secrets.exists(name)
    assert not world.signing_secrets.exists(f"{name}-2")
    world.remove_secret(name)
    assert not world.signing_secrets.exists(name)


def test_the_two_stores_are_told_apart(world: World) -> None:
    world.add_secret("clockwork/one")
    world.add_secret("ssm:/clockwork/other")
    names = ["clockwork/one", "ssm:/clockwork/one", "clockwork/other", "ssm:/clockwork/other"]
    assert [world.signing_secrets.exists(name) for name in names] == [True, False, False, True]


@pytest.mark.usefixtures("no_pauses_of_botocore")
@pytest.mark.parametrize("name", NAMES)
def test_a_store_that_cannot_be_reached_is_no_answer(aws_world: AwsWorld, name: str) -> None:
    aws_world.add_secret(name)

    def fail(**_: object) -> None:
        raise EndpointConnectionError(endpoint_url="https://store")

    _client(aws_world, name).meta.events.register_first(f"before-send.{SERVICES[name]}", fail)
    with pytest.raises(Unavailable):
        aws_world.signing_secrets.exists(name)


@pytest.mark.parametrize("name", NAMES)
def test_whether_it_exists_is_asked_without_reading_it(aws_world: AwsWorld, name: str) -> None:
    asked: list[str] = []

    def note(request: Any, **_: object) -> None:
        asked.append(request.headers["X-Amz-Target"].decode().rpartition(".")[2])

    aws_world.add_secret(name)
    _client(aws_world, name).meta.events.register(f"before-send.{SERVICES[name]}", note)
    assert aws_world.signing_secrets.exists(name)
    assert asked == ["ListTagsForResource" if name.startswith("ssm:") else "DescribeSecret"]


def _client(aws_world: AwsWorld, name: str) -> Any:
    return aws_world.aws.client("ssm" if name.startswith("ssm:") else "secretsmanager")
