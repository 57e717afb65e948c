"""Deliveries to Step Functions: the execution that begins, and that a repeat begins no second one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import botocore.session
import pytest
from moto import mock_aws

from clockwork.aws.targets.service_attempts import ServiceTransport
from clockwork.domain.executions import State
from clockwork.targets.message import Payload
from clockwork.targets.step_functions import StepFunctionsTarget
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
