"""Deliveries to Step Functions: the execution that begins, and that a repeat begins no second one."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import botocore.session
import msgspec
import pytest
from moto import mock_aws

from clockwork.aws.targets.service_attempts import KNOWN_FOR_MS, MOST_KNOWN, ServiceTransport
from clockwork.domain.executions import Outcome, State
from clockwork.domain.policies import Completion
from clockwork.domain.releases import Delivery
from clockwork.targets.message import Errand, Payload
from clockwork.targets.step_functions import LARGEST_INPUT, StepFunctionsTarget
from tests.contract.one_client import OneClient
from tests.contract.receiver import WallClock, delivery_to

PASS = json.dumps({"StartAt": "pass", "States": {"pass": {"Type": "Pass", "End": True}}})


@pytest.fixture(params=["moto", "emulator"])
def client(request: pytest.FixtureRequest) -> Iterator[Any]:
    """A client of Step Functions, played by moto or by the emulator."""
    if request.param == "emulator":
        yield request.getfixturevalue("emulator").client("stepfunctions", request.getfixturevalue("account"))
        return
    with mock_aws():
        client = botocore.session.Session().create_client(
            "stepfunctions", region_name="us-east-1", aws_access_key_id="test", aws_secret_access_key="test"
        )
        yield client
        client.close()


@pytest.fixture
def machine(client: Any) -> str:
    """The ARN of a state machine that ends at once."""
    role = "arn:aws:iam::123456789012:role/machine"
    return str(client.create_state_machine(name="orders", definition=PASS, roleArn=role)["stateMachineArn"])


def test_an_execution_begins_with_the_facts_and_the_payload_and_a_repeat_begins_none(client: Any, machine: str) -> None:
    target, payload = StepFunctionsTarget(machine), Payload(b'{"n":[1,"x"]}')
    transport = ServiceTransport(StepFunctionsTarget, OneClient(client), WallClock())
    attempts = [delivery_to(target, payload, attempt=number) for number in (1, 2)]
    assert [transport.deliver(one).state for one in attempts] == [State.SUCCEEDED] * 2
    (begun,) = client.list_executions(stateMachineArn=machine)["executions"]
    assert begun["name"].startswith("clockwork-")
    assert len(begun["name"]) <= 80
    told = json.loads(client.describe_execution(executionArn=begun["executionArn"])["input"])
    assert (told["executionId"], told["attempt"], told["payload"]) == (attempts[0].execution_id, 1, {"n": [1, "x"]})


def test_a_state_machine_that_is_not_there_is_told(client: Any, machine: str) -> None:
    gone = StepFunctionsTarget(machine.replace("orders", "gone"))
    outcome = ServiceTransport(StepFunctionsTarget, OneClient(client), WallClock()).deliver(delivery_to(gone))
    assert (outcome.state, outcome.permanent) == (State.FAILED, False)
    assert "does not exist" in (outcome.error or "")


WAITS = json.dumps({"StartAt": "wait", "States": {"wait": {"Type": "Wait", "Seconds": 600, "End": True}}})
FAILS = json.dumps({"StartAt": "fail", "States": {"fail": {"Type": "Fail", "Error": "Out.OfPaper", "Cause": "tray 2"}}})


class Ending:
    """A state machine whose executions are waited for, and one attempt at it."""

    def __init__(self, client: Any, definition: str, name: str = "ending") -> None:
        role = "arn:aws:iam::123456789012:role/machine"
        self.client = client
        self.machine = str(
            client.create_state_machine(name=name, definition=definition, roleArn=role)["stateMachineArn"]
        )
        self.transport = ServiceTransport(StepFunctionsTarget, OneClient(client), WallClock())
        self.first = delivery_to(StepFunctionsTarget(self.machine))

    def delivery(self, errand: Errand | None = None, **more: Any) -> Delivery:
        occurrence = msgspec.structs.replace(self.first.occurrence, completion=Completion("end"))
        return msgspec.structs.replace(self.first, occurrence=occurrence, errand=errand, **more)

    def begin(self) -> None:
        assert self.transport.deliver(self.delivery()).state is State.SUCCEEDED

    def ask(self, errand: Errand = Errand.ASK, **more: Any) -> Outcome:
        outcome = self.transport.deliver(self.delivery(errand, **more))
        assert outcome.told, outcome.error
        return outcome

    def ended(self) -> Outcome:
        """The word on an execution that ends in a moment."""
        for _ in range(100):
            if (outcome := self.ask()).state is not State.RUNNING:
                return outcome
            time.sleep(0.05)
        raise AssertionError("it runs on")


@pytest.fixture
def emulated(emulator: Any, account: str) -> Any:
    """A client of Step Functions, played by the emulator: moto begins executions, and ends none."""
    return emulator.client("stepfunctions", account)


def test_an_execution_that_has_ended_is_told_with_its_output(emulated: Any) -> None:
    ending = Ending(emulated, PASS)
    ending.begin()
    outcome = ending.ended()
    assert outcome.state is State.SUCCEEDED
    assert json.loads(outcome.answer or b"")["attempt"] == 1


def test_a_failure_is_told_with_its_error_and_cause(emulated: Any) -> None:
    ending = Ending(emulated, FAILS)
    ending.begin()
    outcome = ending.ended()
    assert outcome.state is State.FAILED
    assert "FAILED: Out.OfPaper: tray 2" in str(outcome.error)


def test_an_execution_runs_until_it_is_stopped_and_a_stop_comes_twice(client: Any) -> None:
    ending = Ending(client, WAITS)
    ending.begin()
    assert ending.ask().state is State.RUNNING
    assert ending.ask(Errand.STOP).state is State.RUNNING, "as it was before the stop"
    outcome = ending.ended()
    assert (outcome.state, "ABORTED" in str(outcome.error)) == (State.FAILED, True)
    assert ending.ask(Errand.STOP).state is State.FAILED


def test_an_execution_that_never_began_is_not_known(client: Any) -> None:
    ending = Ending(client, PASS)
    assert ending.ask().state is State.WORKER_LOST
    ending.begin()
    assert ending.ask(begun=1).state is State.WORKER_LOST, "that of the next attempt"


def test_an_express_state_machine_is_refused_before_anything_begins(client: Any) -> None:
    role = "arn:aws:iam::123456789012:role/machine"
    machine = client.create_state_machine(name="express", definition=PASS, roleArn=role, type="EXPRESS")
    ending = Ending(client, PASS)
    ending.first = delivery_to(StepFunctionsTarget(str(machine["stateMachineArn"])))
    outcome = ending.transport.deliver(ending.delivery())
    assert (outcome.state, outcome.permanent) == (State.FAILED, True)
    assert "leave out the completion, or make the state machine anew as STANDARD" in str(outcome.error)


@pytest.mark.parametrize(("envelope", "most"), [(False, LARGEST_INPUT), (None, LARGEST_INPUT - 300)])
def test_an_input_that_no_state_machine_takes_is_never_sent(envelope: bool | None, most: int) -> None:
    """A create refuses it. The payload of a node is filled later, up to 256 KiB without its envelope."""
    transport = ServiceTransport(StepFunctionsTarget, OneClient(Known()), WallClock())
    target = StepFunctionsTarget("arn:aws:states:us-east-1:123456789012:stateMachine:a", envelope=envelope)
    taken = transport.deliver(delivery_to(target, Payload(b"1" * most)))
    assert taken.state is State.SUCCEEDED
    outcome = transport.deliver(delivery_to(target, Payload(b"1" * (LARGEST_INPUT + 1))))
    assert (outcome.state, outcome.permanent) == (State.FAILED, True)
    assert "Step Functions takes 262,144" in str(outcome.error)


class LaterClock(WallClock):
    """The wall's, once `ahead` ms further on."""

    ahead = 0

    def now(self) -> int:
        return super().now() + self.ahead


def test_a_state_machine_that_is_made_anew_as_express_is_refused_once_the_earlier_one_is_forgotten(client: Any) -> None:
    clock = LaterClock()
    ending = Ending(client, PASS)
    ending.transport = ServiceTransport(StepFunctionsTarget, OneClient(client), clock)
    ending.begin()
    client.delete_state_machine(stateMachineArn=ending.machine)
    role = "arn:aws:iam::123456789012:role/machine"
    client.create_state_machine(name="ending", definition=PASS, roleArn=role, type="EXPRESS")
    clock.ahead = KNOWN_FOR_MS + 1
    later = msgspec.structs.replace(ending.delivery(), deadline_at=clock.now() + 5_000)
    assert "is EXPRESS" in str(ending.transport.deliver(later).error)


class Known:
    """A client of Step Functions that knows every state machine, and counts how often it is asked for its type."""

    def __init__(self) -> None:
        self.meta = SimpleNamespace(region_name="us-east-1")
        self.exceptions = SimpleNamespace(ExecutionAlreadyExists=KeyError)
        self.described = 0

    def describe_state_machine(self, **_: str) -> dict[str, str]:
        self.described += 1
        return {"type": "STANDARD"}

    def start_execution(self, **_: str) -> dict[str, str]:
        return {}


def test_however_many_names_a_wildcard_lists_only_some_are_remembered() -> None:
    known = Known()
    transport = ServiceTransport(StepFunctionsTarget, OneClient(known), WallClock())
    for number in [*range(2_500), *range(2_400, 2_500)]:
        first = delivery_to(StepFunctionsTarget(f"arn:aws:states:us-east-1:123456789012:stateMachine:of-{number}"))
        occurrence = msgspec.structs.replace(first.occurrence, completion=Completion("end"))
        assert transport.deliver(msgspec.structs.replace(first, occurrence=occurrence)).state is State.SUCCEEDED
    assert known.described == 2_500, "what was met lately is known"
    assert len(transport._known_to_end) <= MOST_KNOWN


@pytest.mark.parametrize(
    ("output", "kept"),
    [
        ('{"pages":12}', (b'{"pages":12}', None)),
        ("7", (b"7", None)),
        ('"' + "x" * 32_766 + '"', (b'"' + b"x" * 32_766 + b'"', None)),
        ('"' + "x" * 32_767 + '"', (None, "its output is not kept: it has more than 32,768 bytes")),
        (None, (None, "its output is not kept: it has more than 32,768 bytes")),
        ("{", (None, "its output is not kept: it is not JSON")),
        ("[" * 65 + "]" * 65, (None, "its output is not kept: it is more than 64 objects and lists deep")),
    ],
)
def test_an_output_is_kept_or_the_reason_why_not(output: str | None, kept: tuple[bytes | None, str | None]) -> None:
    arn = "arn:aws:states:us-east-1:123456789012:execution:orders:clockwork-1"
    detail = {"executionArn": arn, "status": "SUCCEEDED", "input": '{"executionId":"a"}', "output": output}
    told = StepFunctionsTarget.told_by(detail)
    assert told is not None
    assert (told.status, told.result, told.error) == ("succeeded", *kept)


def test_an_error_is_cut_to_what_a_record_keeps() -> None:
    arn = "arn:aws:states:us-east-1:123456789012:execution:orders:clockwork-1"
    detail = {"executionArn": arn, "status": "FAILED", "input": '{"executionId":"a"}', "cause": "ü" * 30_000}
    told = StepFunctionsTarget.told_by(detail)
    assert told is not None
    assert len(str(told.error).encode()) <= 4_096


def test_an_attempt_whose_receiver_reports_begins_an_execution_with_its_own_token(client: Any, machine: str) -> None:
    transport = ServiceTransport(StepFunctionsTarget, OneClient(client), WallClock())
    first = delivery_to(StepFunctionsTarget(machine))
    attempts = [msgspec.structs.replace(first, attempt=number, token=f"t{number}") for number in (1, 2)]
    assert [transport.deliver(one).state for one in attempts] == [State.SUCCEEDED] * 2
    begun = client.list_executions(stateMachineArn=machine)["executions"]
    told = [client.describe_execution(executionArn=one["executionArn"])["input"] for one in begun]
    assert sorted(json.loads(one)["token"] for one in told) == ["t1", "t2"]
