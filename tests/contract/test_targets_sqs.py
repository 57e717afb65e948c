"""SQS deliveries to queues of two imitations of SQS, and the outcomes of its refusals."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import botocore.session
import pytest
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ConnectTimeoutError, EndpointConnectionError, ReadTimeoutError
from botocore.stub import ANY, Stubber
from moto import mock_aws

from clockwork.aws.targets.service_attempts import ServiceTransport
from clockwork.domain.executions import Outcome, State
from clockwork.domain.instants import to_text
from clockwork.domain.releases import Delivery
from clockwork.targets.message import Payload
from clockwork.targets.sqs import SqsTarget
from tests.contract.one_client import OneClient
from tests.contract.receiver import WallClock, delivery_to

#: Loads the service models once for all tests.
SESSION = botocore.session.Session()
QUEUE = "arn:aws:sqs:us-east-1:123456789012:jobs"


def local_client() -> Any:
    return SESSION.create_client(
        "sqs",
        region_name="us-east-1",
        aws_access_key_id="test",
        aws_secret_access_key="test",
        config=Config(retries={"mode": "standard", "total_max_attempts": 1}),
    )


@pytest.fixture(params=["moto", "emulator"])
def client(request: pytest.FixtureRequest) -> Iterator[Any]:
    if request.param == "emulator":
        yield request.getfixturevalue("emulator").client("sqs", request.getfixturevalue("account"))
    else:
        with mock_aws():
            client = local_client()
            yield client
            client.close()


def make_queue(client: Any, name: str, **attributes: str) -> tuple[str, str]:
    url = client.create_queue(QueueName=name, Attributes=attributes)["QueueUrl"]
    arn = client.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    return url, arn


def received(client: Any, url: str) -> list[dict[str, Any]]:
    answer = client.receive_message(
        QueueUrl=url, MaxNumberOfMessages=10, MessageAttributeNames=["All"], AttributeNames=["All"], WaitTimeSeconds=1
    )
    messages: list[dict[str, Any]] = answer.get("Messages", [])
    return messages


def test_the_payload_is_the_message_and_the_facts_are_its_attributes(client: Any) -> None:
    url, arn = make_queue(client, "jobs")
    delivery = delivery_to(SqsTarget(arn), Payload('{"name":"grüße 🎉"}'.encode()), attempt=2)
    before = WallClock().now()
    outcome = ServiceTransport(SqsTarget, OneClient(client), WallClock()).deliver(delivery)
    assert outcome == Outcome(State.SUCCEEDED, outcome.started_at, outcome.ended_at)
    assert before <= outcome.started_at <= outcome.ended_at
    (message,) = received(client, url)
    assert message["Body"] == '{"name":"grüße 🎉"}'
    attributes = {name: value["StringValue"] for name, value in message["MessageAttributes"].items()}
    assert attributes == {
        "executionId": delivery.execution_id,
        "jobId": "ajob",
        "attempt": "2",
        "dueAt": to_text(delivery.occurrence.due_at),
    }


def test_on_a_fifo_queue_the_group_is_the_job_and_all_attempts_are_one_message(client: Any) -> None:
    url, arn = make_queue(client, "jobs.fifo", FifoQueue="true")
    first = delivery_to(SqsTarget(arn))
    again = Delivery(first.execution_id, first.job_id, 2, first.occurrence, first.deadline_at)
    transport = ServiceTransport(SqsTarget, OneClient(client), WallClock())
    assert [transport.deliver(attempt).state for attempt in (first, again)] == [State.SUCCEEDED] * 2
    (message,) = received(client, url)
    assert message["Attributes"]["MessageGroupId"] == "ajob"
    assert message["MessageAttributes"]["attempt"]["StringValue"] == "1"


def test_on_a_fifo_queue_the_group_may_be_chosen_and_a_long_one_is_shortened_to_a_digest(client: Any) -> None:
    url, arn = make_queue(client, "jobs.fifo", FifoQueue="true")
    transport = ServiceTransport(SqsTarget, OneClient(client), WallClock())
    long_job = "a" * 129
    chosen = delivery_to(SqsTarget(arn, message_group_id="orders"))
    shortened = delivery_to(SqsTarget(arn))
    shortened = Delivery(f"{long_job}.1.0", long_job, 1, shortened.occurrence, shortened.deadline_at)
    assert [transport.deliver(each).state for each in (chosen, shortened)] == [State.SUCCEEDED] * 2
    groups = [message["Attributes"]["MessageGroupId"] for message in received(client, url)]
    assert groups[0] == "orders"
    assert len(groups[1]) == 22


def test_a_queue_that_does_not_exist_is_a_transient_failure_that_says_so(client: Any) -> None:
    _, arn = make_queue(client, "jobs")
    outcome = ServiceTransport(SqsTarget, OneClient(client), WallClock()).deliver(
        delivery_to(SqsTarget(f"{arn}-not-yet"))
    )
    assert (outcome.state, outcome.permanent) == (State.FAILED, False)
    assert outcome.error == f"{arn}-not-yet does not exist"


@pytest.fixture
def stubbed() -> Iterator[Stubber]:
    client = local_client()
    with Stubber(client) as stubber:
        yield stubber
    client.close()


@pytest.mark.parametrize(
    ("code", "permanent", "words"),
    [
        (
            "AccessDenied",
            False,
            "denies access (AccessDenied): Clockwork's deliverer role, or the target's",
        ),
        ("KMS.AccessDeniedException", False, "denies access (KMS.AccessDeniedException)"),
        ("AWS.SimpleQueueService.NonExistentQueue", False, "does not exist"),
        ("RequestThrottled", False, "did not take the message: RequestThrottled: because"),
        ("InternalFailure", False, "did not take the message: InternalFailure: because"),
        ("InvalidMessageContents", True, "did not take the message: InvalidMessageContents: because"),
        ("InvalidParameterValue", True, "did not take the message: InvalidParameterValue: because"),
    ],
)
def test_only_a_fault_of_the_message_is_permanent(stubbed: Stubber, code: str, permanent: bool, words: str) -> None:
    stubbed.add_client_error("send_message", code, "because")
    outcome = ServiceTransport(SqsTarget, OneClient(stubbed.client), WallClock()).deliver(delivery_to(SqsTarget(QUEUE)))
    assert (outcome.state, outcome.permanent) == (State.FAILED, permanent)
    assert (outcome.error or "").startswith(f"{QUEUE} {words}")


@pytest.mark.parametrize(
    ("code", "reason", "needs", "option"),
    [
        ("AccessDenied", "Access to the resource is denied.", "needs sqs:SendMessage,", "targetQueueArns"),
        (
            "KMS.AccessDeniedException",
            "because",
            "needs kms:GenerateDataKey and kms:Decrypt",
            "targetKeyArns",
        ),
        (
            "AccessDeniedException",
            "User: arn:aws:sts::1:assumed-role/a is not authorized to perform: kms:Decrypt on resource: k",
            "needs kms:Decrypt on its key",
            "targetKeyArns",
        ),
        (
            "AccessDenied",
            "User: arn:aws:sts::1:assumed-role/a/b is not authorized to perform: sqs:sendmessage on resource: q",
            "needs sqs:sendmessage,",
            "targetQueueArns",
        ),
    ],
)
def test_a_denial_names_the_action_and_the_option_that_opens_it(
    stubbed: Stubber, code: str, reason: str, needs: str, option: str
) -> None:
    stubbed.add_client_error("send_message", code, reason)
    outcome = ServiceTransport(SqsTarget, OneClient(stubbed.client), WallClock()).deliver(delivery_to(SqsTarget(QUEUE)))
    assert needs in (outcome.error or "")
    assert f"by the option {option}" in (outcome.error or "")


def test_the_url_of_a_queue_is_its_endpoint_account_and_name(stubbed: Stubber) -> None:
    expected = {
        "QueueUrl": "https://sqs.us-east-1.amazonaws.com/123456789012/jobs",
        "MessageBody": ANY,
        "MessageAttributes": ANY,
    }
    stubbed.add_response("send_message", {}, expected)
    assert (
        ServiceTransport(SqsTarget, OneClient(stubbed.client), WallClock()).deliver(delivery_to(SqsTarget(QUEUE))).state
        is State.SUCCEEDED
    )


@pytest.mark.parametrize(
    ("error", "state", "words"),
    [
        (ReadTimeoutError(endpoint_url="https://sqs"), State.TIMED_OUT, "SQS did not answer in time"),
        (ConnectTimeoutError(endpoint_url="https://sqs"), State.TIMED_OUT, "SQS did not answer in time"),
        (
            EndpointConnectionError(endpoint_url="https://sqs"),
            State.FAILED,
            "SQS cannot be reached: EndpointConnectionError",
        ),
        (BotoCoreError(), State.FAILED, "SQS gave no answer: BotoCoreError"),
    ],
)
def test_no_answer_is_a_transient_failure(error: BotoCoreError, state: State, words: str) -> None:
    def fail(**_: object) -> None:
        raise error

    client = local_client()
    client.meta.events.register("before-send.sqs", fail)
    outcome = ServiceTransport(SqsTarget, OneClient(client), WallClock()).deliver(delivery_to(SqsTarget(QUEUE)))
    client.close()
    assert (outcome.state, outcome.permanent, outcome.error) == (state, False, words)


@pytest.mark.parametrize(
    ("payload", "words"),
    [
        ("", "the payload is empty, which SQS does not accept"),
        ("a\0b", "the payload holds U+0000 at character 2, which SQS does not accept"),
        ("\x1b", "the payload holds U+001B at character 1, which SQS does not accept"),
        ("ab\uffff", "the payload holds U+FFFF at character 3, which SQS does not accept"),
    ],
)
def test_what_sqs_cannot_carry_is_a_permanent_failure_and_not_sent(stubbed: Stubber, payload: str, words: str) -> None:
    delivery = delivery_to(SqsTarget(QUEUE), Payload(payload.encode(), is_text=True))
    outcome = ServiceTransport(SqsTarget, OneClient(stubbed.client), WallClock()).deliver(delivery)
    assert (outcome.state, outcome.permanent, outcome.error) == (State.FAILED, True, words)


@pytest.mark.parametrize("payload", ["\t\r\n", " ", "\ud7ff\ue000\ufffd", "\U00010000\U0010ffff"])
def test_every_character_that_sqs_carries_is_sent(client: Any, payload: str) -> None:
    url, arn = make_queue(client, "jobs")
    delivery = delivery_to(SqsTarget(arn), Payload(payload.encode(), is_text=True))
    assert ServiceTransport(SqsTarget, OneClient(client), WallClock()).deliver(delivery).state is State.SUCCEEDED
    assert [message["Body"] for message in received(client, url)] == [payload]


@pytest.mark.parametrize(
    ("arn", "words"),
    [
        ("arn:aws:sns:us-east-1:123456789012:topic", "is not the ARN of a queue"),
        ("arn:aws:sqs:us-east-1:123456789012:a/b", "is not the ARN of a queue"),
        ("arn:aws:sqs:eu-west-1:123456789012:jobs", "is in eu-west-1, Clockwork delivers to queues in us-east-1 only"),
    ],
)
def test_a_queue_that_cannot_be_reached_from_here_is_a_permanent_failure(
    stubbed: Stubber, arn: str, words: str
) -> None:
    outcome = ServiceTransport(SqsTarget, OneClient(stubbed.client), WallClock()).deliver(delivery_to(SqsTarget(arn)))
    assert (outcome.state, outcome.permanent, outcome.error) == (State.FAILED, True, f"{arn} {words}")
