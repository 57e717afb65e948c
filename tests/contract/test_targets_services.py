"""Deliveries to Lambda, EventBridge and SNS: the messages that arrive, and the outcomes of refusals."""

from __future__ import annotations

import io
import json
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import botocore.session
import msgspec
import pytest
from botocore.config import Config
from botocore.exceptions import EndpointConnectionError, ReadTimeoutError
from botocore.stub import Stubber
from moto import mock_aws

from clockwork.aws.targets.service_attempts import ServiceTransport
from clockwork.domain.executions import Outcome, State
from clockwork.domain.instants import to_text
from clockwork.domain.releases import Delivery
from clockwork.targets.eventbridge import EventBridgeTarget
from clockwork.targets.lambda_function import LambdaTarget
from clockwork.targets.message import Payload
from clockwork.targets.registry import SERVICE_TARGETS
from clockwork.targets.sns import SnsTarget
from clockwork.targets.sqs import SqsTarget
from clockwork.targets.text import TextTarget
from local.emulator import Credentials, Emulator
from tests.contract.one_client import OneClient
from tests.contract.receiver import WallClock, delivery_to
from tests.contract.service_targets import EXAMPLES, REFUSALS, Example

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


def deliver(target: Any, clients: OneClient, payload: Payload = TEXT) -> Outcome:
    return ServiceTransport(type(target), clients, WallClock()).deliver(delivery_to(target, payload))


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
    assert (
        ServiceTransport(EventBridgeTarget, OneClient(events), WallClock()).deliver(delivery).state is State.SUCCEEDED
    )
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
    assert ServiceTransport(SnsTarget, OneClient(sns), WallClock()).deliver(delivery).state is State.SUCCEEDED
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
    transport = ServiceTransport(SnsTarget, OneClient(client), WallClock())
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
    assert ServiceTransport(LambdaTarget, OneClient(client), WallClock()).deliver(delivery).state is State.SUCCEEDED
    until = time.monotonic() + 20
    while not told.exists() and time.monotonic() < until:
        time.sleep(0.02)
    assert json.loads(told.read_text()) == envelope(delivery, TEXT.body.decode())


def test_an_invocation_is_asynchronous() -> None:
    client = local_client("lambda")
    invoked: list[dict[str, Any]] = []
    client.invoke = lambda **asked: invoked.append(asked)
    delivery = delivery_to(LambdaTarget(f"{FUNCTION}:live"))
    assert ServiceTransport(LambdaTarget, OneClient(client), WallClock()).deliver(delivery).state is State.SUCCEEDED
    client.close()
    (asked,) = invoked
    assert (asked["InvocationType"], asked["FunctionName"]) == ("Event", f"{FUNCTION}:live")


def test_every_type_of_the_registry_has_an_example() -> None:
    assert set(EXAMPLES) == set(SERVICE_TARGETS)


@pytest.mark.parametrize(("example", "code", "permanent", "words"), REFUSALS)
def test_only_a_fault_of_what_was_sent_is_permanent(example: Example, code: str, permanent: bool, words: str) -> None:
    service = example.target.service.client
    client = local_client(service)
    clients = OneClient(client)
    with Stubber(client) as stubber:
        stubber.add_client_error(example.operation, code, "because")
        outcome = deliver(example.target, clients)
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
        outcome = deliver(EventBridgeTarget(BUS, "s", "d"), OneClient(client))
    client.close()
    assert (outcome.state, outcome.permanent) == (State.FAILED, permanent)
    assert outcome.error == f"{BUS} did not take the event: {code}: because"


@pytest.mark.parametrize("example", EXAMPLES.values())
@pytest.mark.parametrize(
    ("fault", "state"),
    [
        (ReadTimeoutError(endpoint_url="x"), State.TIMED_OUT),
        (EndpointConnectionError(endpoint_url="x"), State.FAILED),
    ],
)
def test_a_service_that_does_not_answer_is_a_transient_failure(
    example: Example, fault: Exception, state: State
) -> None:
    client = local_client(example.target.service.client)

    def fail(**_: Any) -> None:
        raise fault

    setattr(client, example.operation, fail)
    outcome = deliver(example.target, OneClient(client))
    client.close()
    assert (outcome.state, outcome.permanent) == (state, False)


@pytest.mark.parametrize("example", EXAMPLES.values())
@pytest.mark.parametrize(
    ("change", "words"),
    [(("us-east-1", "eu-west-1"), "in us-east-1 only"), (("arn:aws", "arn:aws:x"), "is not the ARN")],
)
def test_what_cannot_be_reached_from_here_is_a_permanent_failure(
    example: Example, change: tuple[str, str], words: str
) -> None:
    field = example.target.service.arn_field
    target: Any = msgspec.structs.replace(example.target, **{field: example.target.arn.replace(*change)})
    client = local_client(example.target.service.client)
    outcome = deliver(target, OneClient(client))
    client.close()
    assert (outcome.state, outcome.permanent) == (State.FAILED, True)
    assert words in (outcome.error or "")


@pytest.mark.parametrize("example", [one for one in EXAMPLES.values() if isinstance(one.target, TextTarget)])
@pytest.mark.parametrize("payload", ["", "a\x00"])
def test_what_is_no_text_is_a_permanent_failure_and_not_sent(example: Example, payload: str) -> None:
    outcome = deliver(example.target, OneClient(None), Payload(payload.encode(), is_text=True))
    assert (outcome.state, outcome.permanent) == (State.FAILED, True)
    assert f"{example.target.service.name} does not accept" in (outcome.error or "")


def test_of_a_call_that_is_made_late_only_those_are_sent_whose_time_is_not_over() -> None:
    """A call that gathered attempts in an environment that was frozen is joined by those of the next invocation."""
    published: list[dict[str, Any]] = []
    client = local_client("sns")
    client.publish = lambda **asked: published.append(asked)
    late, in_time = delivery_to(SnsTarget(TOPIC), seconds=-60, attempt=1), delivery_to(SnsTarget(TOPIC), attempt=2)
    transport = ServiceTransport(SnsTarget, OneClient(client), WallClock())
    states = [[outcome.state for outcome in transport.deliver_all([one])] for one in (late, in_time)]
    client.close()
    assert states == [[State.TIMED_OUT], [State.SUCCEEDED]]
    assert [one["MessageAttributes"]["attempt"]["StringValue"] for one in published] == ["2"]


def test_a_mixed_call_answers_each_attempt_for_itself() -> None:
    sent: list[str] = []

    class Queue:
        meta = SimpleNamespace(region_name="us-east-1", endpoint_url="https://sqs")

        def send_message_batch(self, QueueUrl: str, Entries: list[dict[str, Any]]) -> Any:  # noqa: N803 - of botocore
            sent.extend(one["MessageAttributes"]["attempt"]["StringValue"] for one in Entries)
            return {"Successful": [{"Id": "0"}, {"Id": "2"}], "Failed": [{"Id": "1", "Code": "AccessDenied"}]}

    target = SqsTarget("arn:aws:sqs:us-east-1:123456789012:jobs")
    calls = [delivery_to(target, attempt=n, seconds=-1 if n in (1, 3) else 10) for n in range(1, 6)]
    outcomes = ServiceTransport(SqsTarget, OneClient(Queue()), WallClock()).deliver_all(calls)
    assert sent == ["2", "4", "5"]
    expected = [State.TIMED_OUT, State.SUCCEEDED, State.TIMED_OUT, State.FAILED, State.SUCCEEDED]
    assert [outcome.state for outcome in outcomes] == expected
