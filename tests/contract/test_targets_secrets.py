"""Signing secrets: read by name from either store, cached for a while, and never disclosed."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError

from clockwork.aws.targets.secrets import CAPACITY, MEMORY_MS, UNREADABLE_FOR_MS, Secrets, SecretUnreadable
from clockwork.memory.clock import MemoryClock
from tests.contract.worlds import AwsWorld

SECRET = "whsec_c2VjcmV0"
NEW_SECRET = "whsec_bmV3ZXI="


class SetClock:
    """Stands still until it is set."""

    def __init__(self) -> None:
        self.at = 1_000_000

    def now(self) -> int:
        return self.at

    def hold_until(self, at: int) -> None:
        self.at = max(self.at, at)


class Store:
    """One of the stores of secrets, which counts its reads, with the `Secrets` that read from it."""

    service: str
    #: The beginning of the names that are read from this store.
    prefix: str
    missing: str

    def __init__(self, world: AwsWorld) -> None:
        self.client = world.aws.client(self.service)
        self.reads = 0
        self.clock = SetClock()
        self.secrets = Secrets(
            world.aws.client("secretsmanager"), world.aws.client("ssm"), self.clock, prefix="clockwork/"
        )
        self.events = self.client.meta.events
        self.operation = self.client.meta.service_model.service_id.hyphenize()
        self.events.register(f"before-send.{self.operation}", self._count)

    def _count(self, request: Any, **_: object) -> None:
        self.reads += b".Get" in request.headers["X-Amz-Target"]

    def put(self, name: str, value: str) -> None:
        raise NotImplementedError


class InSecretsManager(Store):
    """AWS Secrets Manager."""

    service = "secretsmanager"
    prefix = "clockwork/"
    missing = "ResourceNotFoundException"

    def put(self, name: str, value: str) -> None:
        listed = [one["Name"] for one in self.client.list_secrets()["SecretList"]]
        if name in listed:
            self.client.put_secret_value(SecretId=name, SecretString=value)
        else:
            self.client.create_secret(Name=name, SecretString=value)


class InParameterStore(Store):
    """SSM Parameter Store."""

    service = "ssm"
    prefix = "ssm:/clockwork/"
    missing = "ParameterNotFound"

    def put(self, name: str, value: str) -> None:
        self.client.put_parameter(Name=name.removeprefix("ssm:"), Value=value, Type="SecureString", Overwrite=True)


@pytest.fixture(params=[InSecretsManager, InParameterStore])
def store(request: pytest.FixtureRequest, aws_world: AwsWorld) -> Store:
    made: Store = request.param(aws_world)
    return made


def test_a_secret_is_read_once_in_five_minutes(store: Store) -> None:
    name = f"{store.prefix}acme"
    store.put(name, SECRET)
    assert store.secrets.get(name) == SECRET
    store.clock.at += MEMORY_MS - 1
    assert store.secrets.get(name) == SECRET
    assert store.reads == 1
    store.put(name, NEW_SECRET)
    store.clock.at += 1
    assert store.secrets.get(name) == NEW_SECRET


def test_threads_that_miss_together_ask_once(store: Store) -> None:
    name = f"{store.prefix}acme/webhooks"
    store.put(name, SECRET)
    together = threading.Barrier(8)
    got: list[str] = []

    def read() -> None:
        together.wait(5)
        got.append(store.secrets.get(name))

    threads = [threading.Thread(target=read) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(5)
    assert (got, store.reads) == ([SECRET] * 8, 1)


@pytest.mark.parametrize("name", ["payroll/password", "ssm:/payroll/password", "ssm:clockwork/acme", "/clockwork/acme"])
def test_a_name_outside_our_prefix_is_never_asked_for(store: Store, name: str) -> None:
    with pytest.raises(SecretUnreadable, match="its name does not start with clockwork/ or ssm:/clockwork/"):
        store.secrets.get(name)
    assert store.reads == 0


def test_a_missing_secret_is_named_with_its_code_and_asked_for_again_a_while_later(store: Store) -> None:
    name = f"{store.prefix}acme"
    for _ in range(2):
        with pytest.raises(SecretUnreadable) as raised:
            store.secrets.get(name)
        assert str(raised.value) == f"signing secret {name} cannot be read: {store.missing}"
        store.clock.at += UNREADABLE_FOR_MS // 2
    assert store.reads == 1
    store.put(name, SECRET)
    assert store.secrets.get(name) == SECRET


def test_a_store_that_cannot_be_reached_is_named(store: Store) -> None:
    def fail(**_: object) -> None:
        raise EndpointConnectionError(endpoint_url="https://store")

    store.events.register_first(f"before-send.{store.operation}", fail)
    with pytest.raises(SecretUnreadable, match="cannot be read: EndpointConnectionError"):
        store.secrets.get(f"{store.prefix}acme")


def test_a_secret_that_is_no_key_is_refused_without_telling_it(store: Store) -> None:
    name = f"{store.prefix}acme"
    store.put(name, "whsec_not base64!")
    with pytest.raises(SecretUnreadable) as raised:
        store.secrets.get(name)
    assert str(raised.value) == f"signing secret {name} cannot be read: it is not base64 after whsec_"


def test_a_binary_secret_is_refused(aws_world: AwsWorld) -> None:
    store = InSecretsManager(aws_world)
    store.client.create_secret(Name="clockwork/acme", SecretBinary=b"raw")
    with pytest.raises(SecretUnreadable, match="it is empty"):
        store.secrets.get("clockwork/acme")


@pytest.mark.parametrize("kind", ["String", "StringList"])
def test_a_parameter_that_is_kept_in_plain_text_is_refused(aws_world: AwsWorld, kind: str) -> None:
    store = InParameterStore(aws_world)
    store.client.put_parameter(Name="/clockwork/acme", Value=SECRET, Type=kind)
    with pytest.raises(SecretUnreadable) as raised:
        store.secrets.get("ssm:/clockwork/acme")
    assert str(raised.value) == "signing secret ssm:/clockwork/acme cannot be read: it is no SecureString"


def test_a_client_may_rotate_from_one_store_to_the_other(aws_world: AwsWorld) -> None:
    former, latter = InSecretsManager(aws_world), InParameterStore(aws_world)
    former.put("clockwork/acme", SECRET)
    latter.put("ssm:/clockwork/acme", NEW_SECRET)
    assert [former.secrets.get(name) for name in ("clockwork/acme", "ssm:/clockwork/acme")] == [SECRET, NEW_SECRET]


def test_no_representation_holds_a_secret(store: Store) -> None:
    name = f"{store.prefix}acme"
    store.put(name, SECRET)
    store.secrets.get(name)
    assert SECRET not in repr(store.secrets) + str(store.secrets)


class SlowStore:
    """Answers for one name only when it may go on, and for all others at once."""

    def __init__(self) -> None:
        self.asked, self.may_go_on = threading.Event(), threading.Event()
        self.reads: list[str] = []

    def get_secret_value(self, *, SecretId: str) -> Any:  # noqa: N803 - as botocore names it
        self.reads.append(SecretId)
        if SecretId.endswith("slow"):
            self.asked.set()
            self.may_go_on.wait(5)
            raise EndpointConnectionError(endpoint_url="https://store")
        return {"SecretString": SECRET}


def test_while_one_secret_is_not_answered_others_are_read_and_its_own_waiters_ask_no_more() -> None:
    store = SlowStore()
    secrets = Secrets(store, store, SetClock(), prefix="clockwork/")
    refused: list[str] = []

    def wait() -> None:
        try:
            secrets.get("clockwork/slow")
        except SecretUnreadable as fault:
            refused.append(str(fault))

    waiting = [threading.Thread(target=wait) for _ in range(4)]
    for thread in waiting:
        thread.start()
    assert store.asked.wait(5)
    other = threading.Thread(target=secrets.get, args=("clockwork/other",))
    other.start()
    other.join(2)
    assert not other.is_alive()
    store.may_go_on.set()
    for thread in waiting:
        thread.join(5)
    assert refused == ["signing secret clockwork/slow cannot be read: EndpointConnectionError"] * 4
    assert store.reads == ["clockwork/slow", "clockwork/other"]


def test_only_so_many_secrets_are_kept() -> None:
    store = SlowStore()
    secrets = Secrets(store, store, SetClock(), prefix="clockwork/")
    for number in [*range(CAPACITY + 1), 0, CAPACITY]:
        assert secrets.get(f"clockwork/{number}") == SECRET
    assert len(store.reads) == CAPACITY + 2


@pytest.mark.parametrize(
    ("code", "message", "is_key"),
    [
        ("AccessDeniedException", "Access to KMS is not allowed", True),
        ("DecryptionFailure", "no", True),
        ("AccessDeniedException", "not authorized to perform: secretsmanager:GetSecretValue", False),
    ],
)
def test_a_secret_whose_key_is_closed_names_the_option_that_opens_it(code: str, message: str, *, is_key: bool) -> None:
    def deny(**_: object) -> None:
        raise ClientError({"Error": {"Code": code, "Message": message}}, "GetSecretValue")

    secrets = Secrets(SimpleNamespace(get_secret_value=deny), None, MemoryClock(0), prefix="clockwork/")
    with pytest.raises(SecretUnreadable) as raised:
        secrets.get("clockwork/acme")
    said = str(raised.value)
    assert code in said
    assert ("kms:Decrypt on its key, by the option targetKeyArns" in said) is is_key
