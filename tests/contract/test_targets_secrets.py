"""Signing secrets: read by name, remembered for a while, never told."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import botocore.session
import pytest
from botocore.config import Config
from botocore.exceptions import EndpointConnectionError
from moto import mock_aws

from clockwork.aws.secrets import MEMORY_MS, Secrets, SecretUnreadable

#: Loads the service models once for all tests.
SESSION = botocore.session.Session()
SECRET = "whsec_c2VjcmV0"


class SetClock:
    """Stands still until it is set."""

    def __init__(self) -> None:
        self.at = 1_000_000

    def now(self) -> int:
        return self.at

    def hold_until(self, at: int) -> None:
        self.at = max(self.at, at)


class Counted:
    """A Secrets Manager whose reads are counted."""

    def __init__(self, client: Any) -> None:
        self.client = client
        self.reads = 0
        client.meta.events.register("before-send.secrets-manager", self._count)

    def _count(self, **_: object) -> None:
        self.reads += 1

    def put(self, name: str, **value: object) -> None:
        self.client.create_secret(Name=name, **value)
        self.reads = 0


@pytest.fixture
def clock() -> SetClock:
    return SetClock()


@pytest.fixture
def store() -> Iterator[Counted]:
    with mock_aws():
        client = SESSION.create_client(
            "secretsmanager",
            region_name="us-east-1",
            aws_access_key_id="test",
            aws_secret_access_key="test",
            config=Config(retries={"mode": "standard", "total_max_attempts": 1}),
        )
        yield Counted(client)
        client.close()


def test_a_secret_is_read_once_in_five_minutes(store: Counted, clock: SetClock) -> None:
    store.put("clockwork/acme", SecretString=SECRET)
    secrets = Secrets(store.client, clock)
    assert secrets.get("clockwork/acme") == SECRET
    clock.at += MEMORY_MS - 1
    assert secrets.get("clockwork/acme") == SECRET
    assert store.reads == 1
    store.client.put_secret_value(SecretId="clockwork/acme", SecretString="whsec_bmV3ZXI=")
    clock.at += 1
    assert secrets.get("clockwork/acme") == "whsec_bmV3ZXI="


def test_threads_that_miss_together_ask_once(store: Counted, clock: SetClock) -> None:
    store.put("clockwork/acme", SecretString=SECRET)
    secrets = Secrets(store.client, clock)
    together = threading.Barrier(8)
    got: list[str] = []

    def read() -> None:
        together.wait(5)
        got.append(secrets.get("clockwork/acme"))

    threads = [threading.Thread(target=read) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(5)
    assert (got, store.reads) == ([SECRET] * 8, 1)


def test_a_name_outside_our_prefix_is_never_asked_for(store: Counted, clock: SetClock) -> None:
    store.put("payroll/password", SecretString=SECRET)
    with pytest.raises(SecretUnreadable, match="its name does not start with clockwork/"):
        Secrets(store.client, clock).get("payroll/password")
    assert store.reads == 0


def test_a_missing_secret_is_named_with_its_code_and_asked_for_again(store: Counted, clock: SetClock) -> None:
    secrets = Secrets(store.client, clock)
    with pytest.raises(SecretUnreadable) as raised:
        secrets.get("clockwork/acme")
    assert str(raised.value) == "signing secret clockwork/acme cannot be read: ResourceNotFoundException"
    store.put("clockwork/acme", SecretString=SECRET)
    assert secrets.get("clockwork/acme") == SECRET


def test_a_store_that_cannot_be_reached_is_named(store: Counted, clock: SetClock) -> None:
    def fail(**_: object) -> None:
        raise EndpointConnectionError(endpoint_url="https://secretsmanager")

    store.client.meta.events.register_first("before-send.secrets-manager", fail)
    with pytest.raises(SecretUnreadable, match="cannot be read: EndpointConnectionError"):
        Secrets(store.client, clock).get("clockwork/acme")


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ({"SecretString": "whsec_not base64!"}, "it is not base64 after whsec_"),
        ({"SecretBinary": b"raw"}, "it is empty"),
    ],
    ids=["not base64", "binary"],
)
def test_a_secret_that_is_no_key_is_refused_without_telling_it(
    store: Counted, clock: SetClock, value: dict[str, object], reason: str
) -> None:
    store.put("clockwork/acme", **value)
    secrets = Secrets(store.client, clock)
    with pytest.raises(SecretUnreadable) as raised:
        secrets.get("clockwork/acme")
    assert str(raised.value) == f"signing secret clockwork/acme cannot be read: {reason}"


def test_no_representation_holds_a_secret(store: Counted, clock: SetClock) -> None:
    store.put("clockwork/acme", SecretString=SECRET)
    secrets = Secrets(store.client, clock)
    secrets.get("clockwork/acme")
    assert SECRET not in repr(secrets) + str(secrets)
