"""Roles that targets name: assumed once, under the client's own ExternalId, and renewed before they expire."""

from __future__ import annotations

from typing import Any

import pytest

from clockwork.aws.session import Aws
from clockwork.aws.targets.roles import RENEWED_BEFORE_MS, SESSION_SECONDS, RoleClients
from clockwork.aws.targets.service_attempts import NoRole
from clockwork.aws.targets.sqs import SqsTransport
from clockwork.domain.executions import State
from clockwork.domain.jobs import SqsTarget
from clockwork.memory.clock import MemoryClock
from tests.contract.receiver import WallClock, delivery_to
from tests.contract.worlds import AwsWorld

ROLE = "arn:aws:iam::210987654321:role/clockwork-in"


class Asked:
    """Records the calls of AssumeRole that a connection makes."""

    def __init__(self, aws: Aws) -> None:
        self.calls: list[dict[str, Any]] = []
        sts = aws.client("sts")
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
    first = roles.client("sqs", ROLE, "acme")
    clock.at += SESSION_SECONDS * 1000 - RENEWED_BEFORE_MS - 1
    assert roles.client("sqs", ROLE, "acme") is first
    assert [(call["RoleArn"], call["ExternalId"]) for call in asked.calls] == [(ROLE, "acme")]
    clock.at += 1
    assert roles.client("sqs", ROLE, "acme") is not first
    assert len(asked.calls) == 2


def test_one_clients_role_is_not_handed_to_another(aws_world: AwsWorld, asked: Asked) -> None:
    roles = RoleClients(aws_world.aws, MemoryClock())
    assert roles.client("sqs", ROLE, "acme") is not roles.client("sqs", ROLE, "globex")
    assert [call["ExternalId"] for call in asked.calls] == ["acme", "globex"]


def test_without_a_role_the_deliverer_speaks_for_itself(aws_world: AwsWorld, asked: Asked) -> None:
    roles = RoleClients(aws_world.aws, MemoryClock())
    assert roles.client("sqs", None, "acme") is aws_world.aws.client("sqs")
    assert asked.calls == []


def test_a_message_is_sent_in_the_name_of_the_role(aws_world: AwsWorld) -> None:
    roles = RoleClients(aws_world.aws, WallClock())
    client = roles.client("sqs", ROLE, "acme")
    url = client.create_queue(QueueName="theirs")["QueueUrl"]
    arn = client.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    outcome = SqsTransport(roles, WallClock()).deliver(delivery_to(SqsTarget(arn, role_arn=ROLE)))
    assert outcome.state is State.SUCCEEDED, outcome.error
    assert len(client.receive_message(QueueUrl=url)["Messages"]) == 1


def test_a_role_that_does_not_trust_us_is_a_transient_failure_that_says_what_it_takes(
    aws_world: AwsWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    from botocore.exceptions import ClientError

    def deny(**_: Any) -> None:
        raise ClientError({"Error": {"Code": "AccessDenied", "Message": "no"}}, "AssumeRole")

    monkeypatch.setattr(aws_world.aws.client("sts"), "assume_role", deny)
    roles = RoleClients(aws_world.aws, WallClock())
    with pytest.raises(NoRole, match=r"must trust Clockwork's deliverer role under the ExternalId acme"):
        roles.client("sqs", ROLE, "acme")
    arn = "arn:aws:sqs:us-east-1:210987654321:theirs"
    outcome = SqsTransport(roles, WallClock()).deliver(delivery_to(SqsTarget(arn, role_arn=ROLE)))
    assert (outcome.state, outcome.permanent) == (State.FAILED, False)
    assert f"{ROLE} cannot be taken on (AccessDenied)" in (outcome.error or "")
