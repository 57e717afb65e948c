"""Gathering: attempts at one SQS queue that begin together share few calls, and each still has its own outcome."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import botocore.session
import pytest
from botocore.stub import ANY, Stubber
from moto import mock_aws

from clockwork.aws.targets.gathering import LARGEST_CALL, MOST_IN_CALL, Gathering
from clockwork.aws.targets.service_attempts import ServiceTransport
from clockwork.aws.targets.threads import ThreadedTargets
from clockwork.domain.executions import Outcome, State
from clockwork.domain.releases import Delivery
from clockwork.targets.message import Payload
from clockwork.targets.sqs import SqsTarget
from tests.contract.one_client import OneClient
from tests.contract.receiver import WallClock, delivery_to

QUEUE = SqsTarget("arn:aws:sqs:us-east-1:123456789012:jobs")
OTHER = SqsTarget("arn:aws:sqs:us-east-1:123456789012:others")


class Recorder:
    """A transport that delivers everything, and keeps the payloads of each call."""

    def __init__(self, fault: Exception | None = None) -> None:
        self.calls: list[list[bytes]] = []
        self._fault = fault

    def fellows(self, delivery: Delivery) -> str:
        assert isinstance(delivery.occurrence.target, SqsTarget)
        return delivery.occurrence.target.queue_arn

    def deliver_all(self, deliveries: Sequence[Delivery]) -> Sequence[Outcome]:
        self.calls.append([delivery.occurrence.payload.body for delivery in deliveries])
        if self._fault is not None:
            raise self._fault
        return [Outcome(State.SUCCEEDED, 1, 2, excerpt=body.decode()[:9]) for body in self.calls[-1]]


def deliver(transport: Any, deliveries: Sequence[Delivery]) -> dict[int, Outcome]:
    targets = ThreadedTargets({SqsTarget: transport}, WallClock())
    try:
        for slot, delivery in enumerate(deliveries):
            targets.begin(slot, delivery)
        ended: dict[int, Outcome] = {}
        while some := targets.collect():
            ended |= dict(some)
        return ended
    finally:
        targets.close()


def to(target: SqsTarget, count: int, size: int = 1) -> list[Delivery]:
    return [delivery_to(target, Payload(b"%03d" % number * size)) for number in range(count)]


def test_a_herd_at_one_queue_takes_few_calls_and_each_attempt_its_own_outcome() -> None:
    inner = Recorder()
    ended = deliver(Gathering(inner, gathering_seconds=1), to(QUEUE, 160))
    assert {slot: outcome.excerpt for slot, outcome in ended.items()} == {n: f"{n:03d}" for n in range(160)}
    assert max(len(call) for call in inner.calls) == MOST_IN_CALL
    assert len(inner.calls) <= 32


def test_queues_and_a_calls_largest_size_keep_attempts_apart() -> None:
    inner = Recorder()
    deliveries = to(QUEUE, 4, 85_000) + to(OTHER, 3)
    assert len(deliver(Gathering(inner, gathering_seconds=0.2), deliveries)) == 7
    assert all(sum(map(len, call)) <= LARGEST_CALL for call in inner.calls)
    assert sorted(len(call) for call in inner.calls) == [1, 3, 3]


def test_one_alone_waits_for_a_moment_only() -> None:
    inner = Recorder()
    assert deliver(Gathering(inner), to(QUEUE, 1))[0].state is State.SUCCEEDED


def test_a_defect_is_told_to_all_that_joined() -> None:
    ended = deliver(Gathering(Recorder(RuntimeError("defect")), gathering_seconds=1), to(QUEUE, 10))
    assert [outcome.error for outcome in ended.values()] == ["internal fault: RuntimeError"] * 10


@pytest.fixture
def client() -> Iterator[Any]:
    made = botocore.session.Session().create_client(
        "sqs", region_name="us-east-1", aws_access_key_id="test", aws_secret_access_key="test"
    )
    yield made
    made.close()


def test_a_bad_payload_fails_alone_among_those_of_its_call() -> None:
    with mock_aws():
        client: Any = botocore.session.Session().create_client(
            "sqs", region_name="us-east-1", aws_access_key_id="test", aws_secret_access_key="test"
        )
        url = client.create_queue(QueueName="jobs")["QueueUrl"]
        deliveries = [*to(QUEUE, 3), delivery_to(QUEUE, Payload(b""))]
        outcomes = ServiceTransport(SqsTarget, OneClient(client), WallClock()).deliver_all(deliveries)
        received = client.receive_message(QueueUrl=url, MaxNumberOfMessages=10)["Messages"]
    assert [outcome.state for outcome in outcomes] == [State.SUCCEEDED] * 3 + [State.FAILED]
    assert outcomes[3].permanent
    assert sorted(message["Body"] for message in received) == ["000", "001", "002"]


def test_an_entry_that_sqs_refuses_fails_alone(client: Any) -> None:
    failed = [
        {"Id": "0", "SenderFault": True, "Code": "InvalidMessageContents", "Message": "no"},
        {"Id": "2", "SenderFault": False, "Code": "InternalError"},
    ]
    taken = {"Id": "1", "MessageId": "m", "MD5OfMessageBody": "x"}
    with Stubber(client) as stubber:
        answer = {"Successful": [taken], "Failed": failed}
        stubber.add_response("send_message_batch", answer, {"QueueUrl": ANY, "Entries": ANY})
        outcomes = ServiceTransport(SqsTarget, OneClient(client), WallClock()).deliver_all(to(QUEUE, 3))
    assert [(outcome.state, outcome.permanent) for outcome in outcomes] == [
        (State.FAILED, True),
        (State.SUCCEEDED, False),
        (State.FAILED, False),
    ]


def test_a_refused_call_is_the_outcome_of_all_of_it(client: Any) -> None:
    with Stubber(client) as stubber:
        stubber.add_client_error("send_message_batch", "AWS.SimpleQueueService.NonExistentQueue", "gone")
        outcomes = ServiceTransport(SqsTarget, OneClient(client), WallClock()).deliver_all(to(QUEUE, 3))
    assert [outcome.error for outcome in outcomes] == [f"{QUEUE.queue_arn} does not exist"] * 3
