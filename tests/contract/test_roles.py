"""Roles that targets name: assumed once, under the client's own ExternalId, and renewed before they expire."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any

import pytest
from botocore.exceptions import ClientError, ReadTimeoutError

from clockwork.aws.deadlines import OutOfTime
from clockwork.aws.session import Aws
from clockwork.aws.targets.roles import (
    READ_SECONDS,
    REFUSED_FOR_MS,
    RENEWED_BEFORE_MS,
    SESSION_SECONDS,
    UNANSWERED_FOR_MS,
    RoleClients,
)
from clockwork.aws.targets.service_attempts import NoRole, ServiceTransport
from clockwork.domain.executions import State
from clockwork.memory.clock import MemoryClock
from clockwork.targets.sqs import SqsTarget
from tests.contract.receiver import WallClock, delivery_to
from tests.contract.worlds import AwsWorld

ROLE = "arn:aws:iam::210987654321:role/clockwork-in"
#: A deadline that is far away, on either clock.
LATER = 2 * 10**12


class Asked:
    """Records the calls of AssumeRole that a connection makes."""

    def __init__(self, aws: Aws) -> None:
        self.calls: list[dict[str, Any]] = []
        sts = aws.client("sts", 1, READ_SECONDS[0])
        real = sts.assume_role

        def note(**asked: Any) -> Any:
            self.calls.append(asked)
            return real(**asked)

        sts.assume_role = note


@pytest.fixture
def asked(aws_world: AwsWorld) -> Asked:
    return Asked(aws_world.aws)


def test_a_role_is_taken_on_under_the_clients_id_and_its_credentials_are_used_until_shortly_before_they_end(
    aws_world: AwsWorld, asked: Asked
) -> None:
    clock = MemoryClock()
    roles = RoleClients(aws_world.aws, clock)
    first = roles.client("sqs", ROLE, "acme", LATER)
    clock.at += SESSION_SECONDS * 1000 - RENEWED_BEFORE_MS - 1
    assert roles.client("sqs", ROLE, "acme", LATER) is first
    assert [(call["RoleArn"], call["ExternalId"]) for call in asked.calls] == [(ROLE, "acme")]
    clock.at += 1
    assert roles.client("sqs", ROLE, "acme", LATER) is not first
    assert len(asked.calls) == 2


def test_one_clients_role_is_not_handed_to_another(aws_world: AwsWorld, asked: Asked) -> None:
    roles = RoleClients(aws_world.aws, MemoryClock())
    assert roles.client("sqs", ROLE, "acme", LATER) is not roles.client("sqs", ROLE, "globex", LATER)
    assert [call["ExternalId"] for call in asked.calls] == ["acme", "globex"]


def test_without_a_role_the_deliverer_speaks_for_itself(aws_world: AwsWorld, asked: Asked) -> None:
    roles = RoleClients(aws_world.aws, MemoryClock())
    assert roles.client("sqs", None, "acme", LATER) is aws_world.aws.client("sqs", 1, READ_SECONDS[0])
    assert asked.calls == []


def test_a_message_is_sent_in_the_name_of_the_role(aws_world: AwsWorld) -> None:
    roles = RoleClients(aws_world.aws, WallClock())
    client = roles.client("sqs", ROLE, "acme", LATER)
    url = client.create_queue(QueueName="theirs")["QueueUrl"]
    arn = client.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    outcome = ServiceTransport(SqsTarget, roles, WallClock()).deliver(delivery_to(SqsTarget(arn, role_arn=ROLE)))
    assert outcome.state is State.SUCCEEDED, outcome.error
    assert len(client.receive_message(QueueUrl=url)["Messages"]) == 1


def test_a_role_that_does_not_trust_us_is_a_transient_failure_that_says_what_it_takes(
    aws_world: AwsWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    def deny(**_: Any) -> None:
        raise ClientError({"Error": {"Code": "AccessDenied", "Message": "no"}}, "AssumeRole")

    monkeypatch.setattr(aws_world.aws.client("sts", 1, READ_SECONDS[0]), "assume_role", deny)
    roles = RoleClients(aws_world.aws, WallClock())
    with pytest.raises(NoRole, match=r"under the ExternalId acme, which needs sts:AssumeRole .* targetArns"):
        roles.client("sqs", ROLE, "acme", LATER)
    arn = "arn:aws:sqs:us-east-1:210987654321:theirs"
    outcome = ServiceTransport(SqsTarget, roles, WallClock()).deliver(delivery_to(SqsTarget(arn, role_arn=ROLE)))
    assert (outcome.state, outcome.permanent) == (State.FAILED, False)
    assert f"{ROLE} cannot be taken on (AccessDenied)" in (outcome.error or "")


class FakeAws:
    """Makes stand-ins for clients; `assume` answers AssumeRole, and `asked` counts it by role."""

    def __init__(self, assume: Callable[[str], None]) -> None:
        self._assume = assume
        self.asked: list[str] = []
        self.made: list[tuple[Any, ...]] = []

    def client(self, *wanted: Any) -> Any:
        self.made.append(wanted)
        return self

    def client_as(self, service: str, *_: Any) -> Any:
        return service, len(self.asked)

    def assume_role(self, **asked: Any) -> Any:
        self.asked.append(asked["RoleArn"])
        self._assume(asked["RoleArn"])
        return {"Credentials": {"AccessKeyId": "a", "SecretAccessKey": "b", "SessionToken": "c"}}


def roles_of(aws: FakeAws, clock: Any) -> RoleClients:
    return RoleClients(aws, clock)  # type: ignore[arg-type]


def test_while_sts_is_slow_for_one_role_attempts_under_others_go_on() -> None:
    going, slow = Event(), ROLE + "-slow"
    aws = FakeAws(lambda role: (going.wait(10), None)[1] if role == slow else None)
    roles = roles_of(aws, WallClock())
    with ThreadPoolExecutor(2) as pool:
        waiting = pool.submit(roles.client, "sqs", slow, "acme", LATER)
        try:
            assert pool.submit(roles.client, "sqs", ROLE, "acme", LATER).result(timeout=5)
            assert not waiting.done()
        finally:
            going.set()
        assert waiting.result(timeout=5)


def test_attempts_that_wait_for_one_role_wait_no_longer_than_they_have_time() -> None:
    going = Event()
    roles = roles_of(FakeAws(lambda _: (going.wait(10), None)[1]), WallClock())
    with ThreadPoolExecutor(2) as pool:
        waiting = pool.submit(roles.client, "sqs", ROLE, "acme", LATER)
        try:
            began = time.monotonic()
            short = pool.submit(roles.client, "sqs", ROLE, "acme", WallClock().now() + 300)
            with pytest.raises(OutOfTime):
                short.result(timeout=5)
            assert time.monotonic() - began < 3
        finally:
            going.set()
        waiting.result(timeout=5)


@pytest.mark.parametrize(
    ("fault", "remembered_ms"),
    [
        (ClientError({"Error": {"Code": "AccessDenied", "Message": "no"}}, "AssumeRole"), REFUSED_FOR_MS),
        (ReadTimeoutError(endpoint_url="https://sts"), UNANSWERED_FOR_MS),
    ],
)
def test_a_role_that_could_not_be_taken_on_is_not_asked_for_again_for_a_while(
    fault: Exception, remembered_ms: int
) -> None:
    def assume(role: str) -> None:
        if role == ROLE:
            raise fault

    aws, clock = FakeAws(assume), MemoryClock()
    roles = roles_of(aws, clock)
    for at in (0, 1, remembered_ms - 2):
        clock.at += at
        with pytest.raises(NoRole):
            roles.client("sqs", ROLE, "acme", LATER)
    roles.client("sqs", ROLE + "-2", "acme", LATER)
    assert aws.asked.count(ROLE) == 1
    clock.at += 1
    with pytest.raises(NoRole):
        roles.client("events", ROLE, "acme", LATER)
    assert aws.asked.count(ROLE) == 2


def test_the_clients_of_attempts_try_once_and_wait_no_longer_than_there_is_time() -> None:
    aws, clock = FakeAws(lambda _: None), MemoryClock()
    roles = roles_of(aws, clock)
    for left_ms in (60_000, 4_000, 3_999, 2_500, 1_500):
        roles.client("sqs", None, "acme", clock.at + left_ms)
    assert aws.made == [("sqs", 1, 3.0), ("sqs", 1, 3.0), ("sqs", 1, 2.0), ("sqs", 1, 1.0), ("sqs", 1, 0.5)]
    for left_ms in (1_499, 0, -1):
        with pytest.raises(OutOfTime):
            roles.client("sqs", None, "acme", clock.at + left_ms)
        with pytest.raises(OutOfTime):
            roles.client("sqs", ROLE, "acme", clock.at + left_ms)
    assert aws.asked == []
