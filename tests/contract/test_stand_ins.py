"""Each row of the table in docs/reliability.md about moto and MiniStack, as they are: a row that is wrong fails.

`takes` has a word for what a stand-in does with a call: the name of its refusal, or `taken`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import botocore.session
import pytest
from botocore.exceptions import ClientError
from moto import mock_aws

from infra import ROOT
from tests.contract.test_targets_ecs import Ending as Tasks
from tests.contract.test_targets_step_functions import PASS, WAITS

ROLE = "arn:aws:iam::123456789012:role/machine"
Make = Callable[[str], Any]
TABLE = ROOT / "docs/reliability.md"


@pytest.fixture(params=["moto", "MiniStack"])
def make(request: pytest.FixtureRequest) -> Iterator[Make]:
    """Makes clients of one stand-in."""
    if request.param == "MiniStack":
        emulator, account = request.getfixturevalue("emulator"), request.getfixturevalue("account")
        yield lambda service: emulator.client(service, account)
        return
    keys: Any = {"region_name": "us-east-1", "aws_access_key_id": "test", "aws_secret_access_key": "test"}
    with mock_aws():
        yield lambda service: botocore.session.Session().create_client(service, **keys)


def word(call: Callable[[], Mapping[str, Any]]) -> str:
    """The code with which a call was refused, or `taken`."""
    try:
        answer = call()
    except ClientError as error:
        return str(error.response["Error"]["Code"])
    (entry,) = answer.get("Entries") or [{}]
    return str(entry.get("ErrorCode", "taken"))


def machine(states: Any, kind: str = "STANDARD", definition: str = WAITS) -> Callable[..., str]:
    """Starts executions of a new state machine, and says what became of each."""
    made = states.create_state_machine(name="orders", definition=definition, roleArn=ROLE, type=kind)
    arn = made["stateMachineArn"]
    return lambda name, given="{}", of="": word(
        lambda: states.start_execution(stateMachineArn=arn + of, name=name, input=given)
    )


def row(told: str) -> tuple[str, str]:
    """The words of the page for moto and for MiniStack, in the row that begins like this."""
    found = re.search(rf"^\| {re.escape(told)} \|([^|]*)\|([^|]*)\|([^|]*)\|", TABLE.read_text(), re.M)
    assert found, told
    return found[2].strip(" `"), found[3].strip(" `")


def expected(request: pytest.FixtureRequest, told: str) -> str:
    of_moto, of_ministack = row(told)
    return of_moto if request.node.callspec.params["make"] == "moto" else of_ministack


@pytest.mark.parametrize(
    ("told", "name", "given"),
    [
        ("`StartExecution` with a name that has a blank", "a b", "{}"),
        ("`StartExecution` with an input that is no JSON", "a", "{"),
        ("`StartExecution` with an input above 256 KiB", "a", json.dumps("x" * 300_000)),
    ],
)
def test_starts_that_aws_refuses(make: Make, request: pytest.FixtureRequest, told: str, name: str, given: str) -> None:
    assert machine(make("stepfunctions"))(name, given) == expected(request, told)


def test_a_start_of_a_name_again(make: Make, request: pytest.FixtureRequest) -> None:
    start = machine(make("stepfunctions"))
    assert start("same") == "taken"
    assert start("same") == expected(request, "`StartExecution` again while it runs, with the same input")


def test_a_start_of_a_name_of_an_express_machine_again(make: Make, request: pytest.FixtureRequest) -> None:
    start = machine(make("stepfunctions"), "EXPRESS", PASS)
    assert start("same") == "taken"
    assert start("same") == expected(request, "`StartExecution` again of an EXPRESS state machine")


def test_a_start_of_an_alias(make: Make, request: pytest.FixtureRequest) -> None:
    told = "`StartExecution` of a version or an alias"
    assert machine(make("stepfunctions"))("a", of=":live") == expected(request, told)


@pytest.mark.filterwarnings("ignore:EventDetail should be of type dict")
def test_events_that_aws_refuses(make: Make, request: pytest.FixtureRequest) -> None:
    events = make("events")
    of_aws = word(lambda: events.put_events(Entries=[{"Source": "aws.x", "DetailType": "x", "Detail": "{}"}]))
    assert of_aws == expected(request, "`PutEvents` with a source of AWS")
    number = word(lambda: events.put_events(Entries=[{"Source": "x", "DetailType": "x", "Detail": "7"}]))
    assert number == expected(request, "`PutEvents` with a detail that is no object")


def test_more_records_than_a_shard_takes(make: Make, request: pytest.FixtureRequest) -> None:
    kinesis = make("kinesis")
    kinesis.create_stream(StreamName="s", ShardCount=1)
    kinesis.get_waiter("stream_exists").wait(StreamName="s")
    records = [{"Data": b"x" * 10_000, "PartitionKey": "k"}] * 400
    answer = kinesis.put_records(StreamName="s", Records=records)
    told = "`PutRecord` of more than a megabyte a second and shard"
    assert answer.get("FailedRecordCount", 0) == 0
    assert expected(request, told) == "taken"


def task_of(ecs: Any) -> dict[str, Any]:
    """The parameters of RunTask for a new task definition."""
    target = Tasks(ecs).target
    return {"cluster": target.cluster_arn, "taskDefinition": target.task_definition_arn, "launchType": "FARGATE"}


@pytest.mark.parametrize(
    ("told", "more"),
    [
        ("`RunTask` with a container that is not there", {"name": "none"}),
        ("`RunTask` with overrides above 8,192 characters", {"name": "app", "command": ["x" * 9_000]}),
    ],
)
def test_tasks_that_aws_refuses(make: Make, request: pytest.FixtureRequest, told: str, more: dict[str, Any]) -> None:
    ecs = make("ecs")
    asked = task_of(ecs) | {"overrides": {"containerOverrides": [more]}}
    assert word(lambda: ecs.run_task(**asked)) == expected(request, told)


def test_a_client_token_again(make: Make, request: pytest.FixtureRequest) -> None:
    ecs = make("ecs")
    asked = task_of(ecs)
    first, second = (ecs.run_task(**asked, clientToken="t")["tasks"][0]["taskArn"] for _ in range(2))
    assert first != second
    assert expected(request, "`RunTask` with a client token again") == "another task"
