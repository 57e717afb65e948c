"""Deliveries to Lambda, EventBridge and SNS: the messages that arrive, and the outcomes of refusals."""

from __future__ import annotations

import io
import json
import time
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import botocore.session
import pytest
from botocore.config import Config
from botocore.exceptions import EndpointConnectionError, ReadTimeoutError
from botocore.stub import Stubber
from moto import mock_aws

from clockwork.aws.targets.eventbridge import EventBridgeTransport
from clockwork.aws.targets.lambda_function import LambdaTransport
from clockwork.aws.targets.service_attempts import Refused
from clockwork.aws.targets.sns import SnsTransport
from clockwork.aws.targets.sqs import SqsTransport
from clockwork.aws.targets.threads import Transport
from clockwork.domain.executions import State
from clockwork.domain.instants import to_text
from clockwork.domain.jobs import EventBridgeTarget, LambdaTarget, Payload, SnsTarget, SqsTarget, Target
from clockwork.domain.releases import Delivery
from local.emulator import Credentials, Emulator
from tests.contract.one_client import OneClient
from tests.contract.receiver import WallClock, delivery_to

SESSION = botocore.session.Session()
FUNCTION = "arn:aws:lambda:us-east-1:123456789012:function:orders"
BUS = "arn:aws:events:us-east-1:123456789012:event-bus/orders"
TOPIC = "arn:aws:sns:us-east-1:123456789012:orders"
TEXT = Payload('say "grüße"\n🎉'.encode(), is_text=True)
Make = Callable[[str], Any]


def local_client(service: str) -> Any:
    return SESSION.create_client(
        service,
        region_name="us-east-1",
        aws_access_key_id="test",
        aws_secret_access_key="test",
        config=Config(retries={"mode": "standard", "total_max_attempts": 1}),
    )


@pytest.fixture(params=["moto", "emulator"])
def make(request: pytest.FixtureRequest) -> Iterator[Make]:
    """Makes clients of AWS services, played by moto or by the emulator."""
    if request.param == "emulator":
        emulator, account = request.getfixturevalue("emulator"), request.getfixturevalue("account")
        yield lambda service: emulator.client(service, account)
    else:
        with mock_aws():
            made: list[Any] = []

            def local(service: str) -> Any:
                made.append(local_client(service))
                return made[-1]

            yield local
            for client in made:
                client.close()


def queue_of(make: Make, name: str = "heard", **attributes: str) -> tuple[Any, str, str]:
    """A queue in which a test reads the messages that arrived: its client, URL and ARN."""
    sqs = make("sqs")
    url = sqs.create_queue(QueueName=name, Attributes=attributes)["QueueUrl"]
    arn = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    return sqs, url, arn


def heard(sqs: Any, url: str) -> list[dict[str, Any]]:
    answer = sqs.receive_message(
        QueueUrl=url, MaxNumberOfMessages=10, MessageAttributeNames=["All"], AttributeNames=["All"], WaitTimeSeconds=2
    )
    messages: list[dict[str, Any]] = answer.get("Messages", [])
    return messages


def envelope(delivery: Delivery, payload: Any) -> dict[str, Any]:
    return {
        "executionId": delivery.execution_id,
        "jobId": delivery.job_id,
        "attempt": delivery.attempt,
        "dueAt": to_text(delivery.occurrence.due_at),
        "payload": payload,
    }


@pytest.mark.parametrize(
    ("payload", "value"), [(Payload(b'{"n":[1,"x"]}'), {"n": [1, "x"]}), (TEXT, 'say "grüße"\n🎉')]
)
def test_a_bus_hears_an_event_with_the_facts_and_the_payload(
    emulator: Emulator, account: Credentials, payload: Payload, value: Any
) -> None:
    def make(service: str) -> Any:
        return emulator.client(service, account)

    events = make("events")
    bus = events.create_event_bus(Name="orders")["EventBusArn"]
    sqs, url, queue = queue_of(make)
    events.put_rule(Name="all", EventBusName="orders", EventPattern=json.dumps({"source": ["shop"]}))
    events.put_targets(Rule="all", EventBusName="orders", Targets=[{"Id": "q", "Arn": queue}])
    delivery = delivery_to(EventBridgeTarget(bus, "shop", "order due"), payload, attempt=3)
    assert EventBridgeTransport(OneClient(events), WallClock()).deliver(delivery).state is State.SUCCEEDED
    (message,) = heard(sqs, url)
    event = json.loads(message["Body"])
    assert (event["source"], event["detail-type"]) == ("shop", "order due")
    assert event["detail"] == envelope(delivery, value)


def test_a_topic_hears_the_payload_and_the_facts_as_attributes(make: Make) -> None:
    sns = make("sns")
    topic = sns.create_topic(Name="orders")["TopicArn"]
    sqs, url, queue = queue_of(make)
    sns.subscribe(TopicArn=topic, Protocol="sqs", Endpoint=queue)
    delivery = delivery_to(SnsTarget(topic), TEXT, attempt=2)
    assert SnsTransport(OneClient(sns), WallClock()).deliver(delivery).state is State.SUCCEEDED
    (message,) = heard(sqs, url)
    told = json.loads(message["Body"])
    assert told["Message"] == TEXT.body.decode()
    assert {name: value["Value"] for name, value in told["MessageAttributes"].items()} == {
        "executionId": delivery.execution_id,
        "jobId": "ajob",
        "attempt": "2",
        "dueAt": to_text(delivery.occurrence.due_at),
    }


def test_on_a_fifo_topic_the_group_is_the_job_unless_chosen_and_all_attempts_are_one_message() -> None:
    published: list[dict[str, Any]] = []
    client = local_client("sns")
    client.publish = lambda **asked: published.append(asked)
    transport = SnsTransport(OneClient(client), WallClock())
    first = delivery_to(SnsTarget(f"{TOPIC}.fifo"))
    again = Delivery(first.execution_id, first.job_id, 2, first.occurrence, first.deadline_at)
    chosen = delivery_to(SnsTarget(f"{TOPIC}.fifo", message_group_id="g"))
    assert {transport.deliver(one).state for one in (first, again, chosen)} == {State.SUCCEEDED}
    client.close()
    assert [one["MessageGroupId"] for one in published] == ["ajob", "ajob", "g"]
    assert published[0]["MessageDeduplicationId"] == published[1]["MessageDeduplicationId"]


def test_a_function_is_invoked_with_the_facts_and_the_payload(
    emulator: Emulator, account: Credentials, tmp_path: Path
) -> None:
    client = emulator.client("lambda", account)
    told = tmp_path / "told.json"
    code = f"import json\ndef handle(event, _):\n    open({str(told)!r} + '~', 'w').write(json.dumps(event))\n"
    code += f"    import os\n    os.rename({str(told)!r} + '~', {str(told)!r})\n"
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as packed:
        packed.writestr("orders.py", code)
    function = client.create_function(
        FunctionName="orders",
        Runtime="python3.14",
        Role="arn:aws:iam::123456789012:role/any",
        Handler="orders.handle",
        Code={"ZipFile": archive.getvalue()},
    )["FunctionArn"]
    delivery = delivery_to(LambdaTarget(function), TEXT)
    assert LambdaTransport(OneClient(client), WallClock()).deliver(delivery).state is State.SUCCEEDED
    until = time.monotonic() + 20
    while not told.exists() and time.monotonic() < until:
        time.sleep(0.02)
    assert json.loads(told.read_text()) == envelope(delivery, TEXT.body.decode())


def test_an_invocation_is_asynchronous() -> None:
    client = local_client("lambda")
    invoked: list[dict[str, Any]] = []
    client.invoke = lambda **asked: invoked.append(asked)
    delivery = delivery_to(LambdaTarget(f"{FUNCTION}:live"))
    assert LambdaTransport(OneClient(client), WallClock()).deliver(delivery).state is State.SUCCEEDED
    client.close()
    (asked,) = invoked
    assert (asked["InvocationType"], asked["FunctionName"]) == ("Event", f"{FUNCTION}:live")


SERVICES: dict[str, tuple[str, str, Callable[..., Transport], Target]] = {
    "lambda": ("lambda", "invoke", LambdaTransport, LambdaTarget(FUNCTION, "r")),
    "eventbridge": ("events", "put_events", EventBridgeTransport, EventBridgeTarget(BUS, "s", "d", "r")),
    "sns": ("sns", "publish", SnsTransport, SnsTarget(TOPIC, role_arn="r")),
}


def _denied(code: str, action: str) -> str:
    who = "Clockwork's deliverer role, or the target's roleArn,"
    return f"denies access ({code}): {who} needs {action}, by the option targetArns"


@pytest.mark.parametrize(
    ("kind", "code", "permanent", "words"),
    [
        ("lambda", "AccessDeniedException", False, _denied("AccessDeniedException", "lambda:InvokeFunction")),
        ("lambda", "ResourceNotFoundException", False, "does not exist"),
        ("lambda", "TooManyRequestsException", False, "did not take the event: TooManyRequestsException: because"),
        ("lambda", "RequestTooLargeException", True, "did not take the event"),
        ("eventbridge", "AccessDeniedException", False, _denied("AccessDeniedException", "events:PutEvents")),
        ("eventbridge", "InternalException", False, "did not take the event"),
        ("eventbridge", "ValidationException", True, "did not take the event"),
        ("sns", "AuthorizationError", False, _denied("AuthorizationError", "sns:Publish")),
        ("sns", "NotFound", False, "does not exist"),
        ("sns", "InvalidParameter", True, "did not take the message"),
    ],
)
def test_only_a_fault_of_what_was_sent_is_permanent(kind: str, code: str, permanent: bool, words: str) -> None:
    service, operation, transport, target = SERVICES[kind]
    client = local_client(service)
    clients = OneClient(client)
    with Stubber(client) as stubber:
        stubber.add_client_error(operation, code, "because")
        outcome = transport(clients, WallClock()).deliver(delivery_to(target))
    client.close()
    assert (outcome.state, outcome.permanent) == (State.FAILED, permanent)
    assert words in (outcome.error or "")
    assert clients.asked == [(service, "r", "acme")]


@pytest.mark.parametrize(
    ("code", "permanent"), [("ThrottlingException", False), ("InternalFailure", False), ("MalformedDetail", True)]
)
def test_an_entry_that_the_bus_did_not_take_is_a_failure(code: str, permanent: bool) -> None:
    client = local_client("events")
    with Stubber(client) as stubber:
        entry = {"ErrorCode": code, "ErrorMessage": "because"}
        stubber.add_response("put_events", {"FailedEntryCount": 1, "Entries": [entry]})
        outcome = EventBridgeTransport(OneClient(client), WallClock()).deliver(
            delivery_to(EventBridgeTarget(BUS, "s", "d"))
        )
    client.close()
    assert (outcome.state, outcome.permanent) == (State.FAILED, permanent)
    assert outcome.error == f"{BUS} did not take the event: {code}: because"


@pytest.mark.parametrize("kind", SERVICES)
@pytest.mark.parametrize(
    ("fault", "state"),
    [
        (ReadTimeoutError(endpoint_url="x"), State.TIMED_OUT),
        (EndpointConnectionError(endpoint_url="x"), State.FAILED),
    ],
)
def test_a_service_that_does_not_answer_is_a_transient_failure(kind: str, fault: Exception, state: State) -> None:
    service, operation, transport, target = SERVICES[kind]
    client = local_client(service)

    def fail(**_: Any) -> None:
        raise fault

    setattr(client, operation, fail)
    outcome = transport(OneClient(client), WallClock()).deliver(delivery_to(target))
    client.close()
    assert (outcome.state, outcome.permanent) == (state, False)


@pytest.mark.parametrize("kind", SERVICES)
@pytest.mark.parametrize(
    ("change", "words"),
    [(("us-east-1", "eu-west-1"), "in us-east-1 only"), (("arn:aws", "arn:aws:x"), "is not the ARN")],
)
def test_what_cannot_be_reached_from_here_is_a_permanent_failure(
    kind: str, change: tuple[str, str], words: str
) -> None:
    service, _, transport, _ = SERVICES[kind]
    targets: dict[str, Target] = {
        "lambda": LambdaTarget(FUNCTION.replace(*change)),
        "eventbridge": EventBridgeTarget(BUS.replace(*change), "s", "d"),
        "sns": SnsTarget(TOPIC.replace(*change)),
    }
    client = local_client(service)
    outcome = transport(OneClient(client), WallClock()).deliver(delivery_to(targets[kind]))
    client.close()
    assert (outcome.state, outcome.permanent) == (State.FAILED, True)
    assert words in (outcome.error or "")


@pytest.mark.parametrize("payload", ["", "a\x00"])
def test_what_sns_cannot_carry_is_a_permanent_failure_and_not_sent(payload: str) -> None:
    outcome = SnsTransport(OneClient(None), WallClock()).deliver(
        delivery_to(SnsTarget(TOPIC), Payload(payload.encode(), is_text=True))
    )
    assert (outcome.state, outcome.permanent) == (State.FAILED, True)
    assert "SNS does not accept" in (outcome.error or "")


def test_of_a_call_that_is_made_late_only_those_are_sent_whose_time_is_not_over() -> None:
    """A call that gathered attempts in an environment that was frozen is joined by those of the next invocation."""
    published: list[dict[str, Any]] = []
    client = local_client("sns")
    client.publish = lambda **asked: published.append(asked)
    late, in_time = delivery_to(SnsTarget(TOPIC), seconds=-60, attempt=1), delivery_to(SnsTarget(TOPIC), attempt=2)
    transport = SnsTransport(OneClient(client), WallClock())
    states = [[outcome.state for outcome in transport.deliver_all([one])] for one in (late, in_time)]
    client.close()
    assert states == [[State.TIMED_OUT], [State.SUCCEEDED]]
    assert [one["MessageAttributes"]["attempt"]["StringValue"] for one in published] == ["2"]


def test_a_mixed_call_answers_each_attempt_for_itself() -> None:
    client = local_client("sqs")
    sent: list[int] = []

    class Sends(SqsTransport):
        def send(self, deliveries: Sequence[Delivery], target: SqsTarget) -> Mapping[int, Exception]:
            sent.extend(one.attempt for one in deliveries)
            return {1: Refused("AccessDenied", "no")}

    target = SqsTarget("arn:aws:sqs:us-east-1:123456789012:jobs")
    calls = [delivery_to(target, attempt=n, seconds=-1 if n in (1, 3) else 10) for n in range(1, 6)]
    outcomes = Sends(OneClient(client), WallClock()).deliver_all(calls)
    client.close()
    assert sent == [2, 4, 5]
    expected = [State.TIMED_OUT, State.SUCCEEDED, State.TIMED_OUT, State.FAILED, State.SUCCEEDED]
    assert [outcome.state for outcome in outcomes] == expected
