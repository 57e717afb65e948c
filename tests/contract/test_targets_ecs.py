"""Deliveries to ECS: the task that starts, what a repeat starts, and how it is told that it has stopped.

| | ECS | moto | MiniStack, without Docker |
|---|---|---|---|
| a client token again | the first answer, or ConflictException | another task | another task |
| failures of RunTask | no room, a missing attribute | none | none |
| a container that is not in the task definition | InvalidParameterException | taken | taken |
| how a task goes | PROVISIONING to STOPPED | as it is asked, without exit codes | RUNNING until it is stopped |
| Task State Change | on the default bus | none | none |
| forgets a stopped task | after about an hour | never | never |

The stubs of this file play what both lack.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import botocore.session
import msgspec
import pytest
from botocore.stub import ANY, Stubber
from moto import mock_aws

from clockwork.aws.targets.service_attempts import ServiceTransport
from clockwork.domain.executions import Outcome, State
from clockwork.domain.policies import Completion
from clockwork.domain.releases import Delivery
from clockwork.targets.ecs import LARGEST_OVERRIDES, EcsTarget
from clockwork.targets.message import Errand, Payload
from tests.contract.one_client import OneClient
from tests.contract.receiver import WallClock, delivery_to

CONTAINERS = [{"name": "app", "image": "app", "memory": 64}, {"name": "log", "image": "log", "memory": 64}]
CLUSTER = "arn:aws:ecs:us-east-1:123456789012:cluster/jobs"
DEFINITION = "arn:aws:ecs:us-east-1:123456789012:task-definition/report"
TASK = "arn:aws:ecs:us-east-1:123456789012:task/jobs/1"
TARGET = EcsTarget(DEFINITION, CLUSTER, "app")


def local_client() -> Any:
    return botocore.session.Session().create_client(
        "ecs", region_name="us-east-1", aws_access_key_id="test", aws_secret_access_key="test"
    )


@pytest.fixture(params=["moto", "emulator"])
def client(request: pytest.FixtureRequest) -> Iterator[Any]:
    """A client of ECS, played by moto or by the emulator."""
    if request.param == "emulator":
        yield request.getfixturevalue("emulator").client("ecs", request.getfixturevalue("account"))
        return
    with mock_aws():
        client = local_client()
        yield client
        client.close()


@pytest.fixture(scope="module")
def local() -> Iterator[Any]:
    client = local_client()
    yield client
    client.close()


@pytest.fixture
def stubbed(local: Any) -> Iterator[tuple[Any, Stubber]]:
    with Stubber(local) as stubber:
        yield local, stubber
        stubber.assert_no_pending_responses()


class Ending:
    """Attempts at a task definition of a cluster, whose tasks are waited for."""

    def __init__(self, client: Any, target: EcsTarget | None = None) -> None:
        self.client = client
        self.target = target or self._made()
        self.transport = ServiceTransport(EcsTarget, OneClient(client), WallClock())
        self.first = delivery_to(self.target, Payload(b'{"pages":[1,2]}'))

    def _made(self) -> EcsTarget:
        cluster = self.client.create_cluster(clusterName="jobs")["cluster"]["clusterArn"]
        made = self.client.register_task_definition(family="report", containerDefinitions=CONTAINERS)
        return EcsTarget(made["taskDefinition"]["taskDefinitionArn"], cluster, "app", launch_type="FARGATE")

    def delivery(self, errand: Errand | None = None, **more: Any) -> Delivery:
        occurrence = msgspec.structs.replace(self.first.occurrence, completion=Completion("end"))
        return msgspec.structs.replace(self.first, occurrence=occurrence, errand=errand, **more)

    def begin(self, **more: Any) -> Outcome:
        return self.transport.deliver(self.delivery(**more))

    def ask(self, errand: Errand = Errand.ASK, **more: Any) -> Outcome:
        outcome = self.transport.deliver(self.delivery(errand, **more))
        assert outcome.told, outcome.error
        return outcome


def test_a_task_starts_with_the_facts_and_the_payload_in_the_environment_of_its_container(client: Any) -> None:
    ending = Ending(client)
    target = msgspec.structs.replace(ending.target, command=["print", "all"], environment={"COLOUR": "red"})
    ending = Ending(client, target)
    assert ending.begin().state is State.SUCCEEDED
    (arn,) = client.list_tasks(cluster=target.cluster_arn)["taskArns"]
    (task,) = client.describe_tasks(cluster=target.cluster_arn, tasks=[arn])["tasks"]
    assert task["startedBy"].startswith("clockwork-")
    assert len(task["startedBy"]) <= 36
    (override,) = task["overrides"]["containerOverrides"]
    assert (override["name"], override["command"]) == ("app", ["print", "all"])
    said = {one["name"]: one["value"] for one in override["environment"]}
    assert said == {
        "COLOUR": "red",
        "CLOCKWORK_EXECUTION_ID": ending.first.execution_id,
        "CLOCKWORK_JOB_ID": "ajob",
        "CLOCKWORK_ATTEMPT": "1",
        "CLOCKWORK_DUE_AT": said["CLOCKWORK_DUE_AT"],
        "CLOCKWORK_PAYLOAD": '{"pages":[1,2]}',
    }


def test_a_task_runs_until_it_is_stopped_and_a_stop_comes_twice(client: Any) -> None:
    ending = Ending(client)
    assert ending.begin().state is State.SUCCEEDED
    assert ending.ask().state is State.RUNNING
    assert ending.ask(Errand.STOP).state is State.RUNNING, "as it was before the stop"
    outcome = ending.ask()
    assert outcome.state is State.FAILED, "what was broken off has not succeeded, whatever its exit code"
    assert "its job was cancelled" in str(outcome.error)
    assert ending.ask(Errand.STOP).state is State.FAILED


def test_a_task_that_never_started_is_not_known(client: Any) -> None:
    ending = Ending(client)
    assert ending.ask().state is State.WORKER_LOST
    ending.begin()
    assert ending.ask(begun=1).state is State.WORKER_LOST, "that of the next attempt"


def asked(tokens: list[str]) -> dict[str, Any]:
    return {
        "cluster": CLUSTER,
        "taskDefinition": DEFINITION,
        "count": 1,
        "startedBy": ANY,
        "overrides": ANY,
        "clientToken": tokens[-1],
    }


def tokens_of(delivery: Delivery) -> list[str]:
    tokens: list[str] = TARGET.entry(delivery.message)["tokens"]
    return tokens


def test_each_attempt_has_a_token_more_and_the_first_ones_stay() -> None:
    ending = Ending(None, TARGET)
    first, second = (tokens_of(ending.delivery(attempt=number)) for number in (1, 2))
    assert len(first) == 1
    assert second[:1] == first
    assert len(set(tokens_of(ending.delivery(attempt=99)))) == 10
    assert all(len(token) <= 64 for token in second)
    assert not {*second} & {*tokens_of(ending.delivery(attempt=2, begun=1))}


def test_an_attempt_whose_receiver_reports_starts_a_task_with_its_own_token() -> None:
    ending = Ending(None, TARGET)
    told = [tokens_of(ending.delivery(attempt=number, token=f"t{number}")) for number in (1, 2)]
    assert [len(one) for one in told] == [1, 1]
    assert told[0] != told[1]


NO_ROOM = {"tasks": [], "failures": [{"arn": CLUSTER, "reason": "RESOURCE:MEMORY", "detail": "64 more"}]}


def test_no_room_is_tried_again_with_a_token_that_is_not_used_up(stubbed: tuple[Any, Stubber]) -> None:
    client, stubber = stubbed
    ending = Ending(client, TARGET)
    tokens = tokens_of(ending.delivery(attempt=2))
    stubber.add_response("run_task", NO_ROOM, asked(tokens[:1]))
    outcome = ending.begin()
    assert (outcome.state, outcome.permanent) == (State.FAILED, False)
    assert "did not take the task: RESOURCE:MEMORY: 64 more" in str(outcome.error)
    stubber.add_response("run_task", NO_ROOM, asked(tokens[:1]))
    stubber.add_response("run_task", {"tasks": [{"taskArn": TASK}], "failures": []}, asked(tokens))
    assert ending.begin(attempt=2).state is State.SUCCEEDED


@pytest.mark.parametrize(
    ("reason", "permanent"),
    [("RESOURCE:CPU", False), ("RESOURCE:ENI", False), ("AGENT", False), ("ATTRIBUTE", True), ("LOCATION", True)],
)
def test_a_reason_that_passes_is_tried_again_and_no_other(
    stubbed: tuple[Any, Stubber], reason: str, permanent: bool
) -> None:
    client, stubber = stubbed
    stubber.add_response("run_task", {"tasks": [], "failures": [{"reason": reason}]})
    outcome = Ending(client, TARGET).begin()
    assert (outcome.state, outcome.permanent) == (State.FAILED, permanent)
    assert reason in str(outcome.error)


def test_a_cluster_without_instances_is_tried_again(stubbed: tuple[Any, Stubber]) -> None:
    client, stubber = stubbed
    stubber.add_client_error(
        "run_task", "InvalidParameterException", "No Container Instances were found in your cluster."
    )
    outcome = Ending(client, TARGET).begin()
    assert (outcome.state, outcome.permanent) == (State.FAILED, False)


def test_the_task_of_an_attempt_whose_answer_was_lost_is_the_one(stubbed: tuple[Any, Stubber]) -> None:
    client, stubber = stubbed
    ending = Ending(client, TARGET)
    stubber.add_client_error("run_task", "ConflictException", "in use", modeled_fields={"resourceIds": [TASK]})
    assert ending.begin(attempt=2).state is State.SUCCEEDED


def test_a_conflict_without_a_task_is_of_an_attempt_that_was_refused(stubbed: tuple[Any, Stubber]) -> None:
    client, stubber = stubbed
    ending = Ending(client, TARGET)
    tokens = tokens_of(ending.delivery(attempt=2))
    stubber.add_client_error("run_task", "ConflictException", "in use", expected_params=asked(tokens[:1]))
    stubber.add_response("run_task", {"tasks": [{"taskArn": TASK}]}, asked(tokens))
    assert ending.begin(attempt=2).state is State.SUCCEEDED


def task(**more: Any) -> dict[str, Any]:
    ended = {"stopCode": "EssentialContainerExited", "stoppedReason": "Essential container in task exited"}
    return {
        "taskArn": TASK,
        "clusterArn": CLUSTER,
        "taskDefinitionArn": f"{DEFINITION}:7",
        "startedBy": "clockwork-x",
        "lastStatus": "STOPPED",
        "containers": [{"name": "app", "exitCode": 0}, {"name": "log", "exitCode": 137}],
        **ended,
        **more,
    }


def told(stubbed: tuple[Any, Stubber], *tasks: dict[str, Any], running: bool = False) -> Outcome:
    client, stubber = stubbed
    looked = {"cluster": CLUSTER, "startedBy": ANY}
    if not running:
        stubber.add_response("list_tasks", {"taskArns": []}, {**looked, "desiredStatus": "RUNNING"})
    status = "RUNNING" if running else "STOPPED"
    stubber.add_response("list_tasks", {"taskArns": [TASK]}, {**looked, "desiredStatus": status})
    stubber.add_response("describe_tasks", {"tasks": [*tasks]}, {"cluster": CLUSTER, "tasks": [TASK]})
    return Ending(client, TARGET).ask()


def test_a_task_that_ended_with_0_has_the_codes_of_all_its_containers_as_its_result(
    stubbed: tuple[Any, Stubber],
) -> None:
    outcome = told(stubbed, task())
    assert outcome.state is State.SUCCEEDED
    assert json.loads(outcome.answer or b"") == {"exitCode": 0, "exitCodes": {"app": 0, "log": 137}}


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (
            {"containers": [{"name": "app", "exitCode": 3}, {"name": "log", "exitCode": 0}]},
            "app ended with the exit",
        ),
        ({"stopCode": "UserInitiated", "stoppedReason": "by hand"}, "UserInitiated: by hand"),
        ({"stopCode": "SpotInterruption"}, "SpotInterruption"),
        (
            {
                "stopCode": "TaskFailedToStart",
                "stoppedReason": "CannotPullContainerError: no such image",
                "containers": [{"name": "app", "reason": "pull"}],
            },
            "app has no exit code: TaskFailedToStart: CannotPullContainerError: no such image: pull",
        ),
        ({"containers": [{"name": "log", "exitCode": 0}]}, "app has no exit code: beside log 0"),
    ],
)
def test_the_named_container_decides_and_what_was_broken_off_has_failed(
    stubbed: tuple[Any, Stubber], more: dict[str, Any], words: str
) -> None:
    outcome = told(stubbed, task(**more))
    assert (outcome.state, outcome.answer) == (State.FAILED, None)
    assert words in str(outcome.error)


@pytest.mark.parametrize("status", ["PROVISIONING", "PENDING", "ACTIVATING", "RUNNING", "DEPROVISIONING"])
def test_a_task_that_has_not_stopped_runs(stubbed: tuple[Any, Stubber], status: str) -> None:
    assert told(stubbed, task(lastStatus=status), running=True).state is State.RUNNING


def test_of_two_tasks_the_one_that_runs_counts_and_then_the_one_that_succeeded(stubbed: tuple[Any, Stubber]) -> None:
    failed = task(containers=[{"name": "app", "exitCode": 1}])
    assert told(stubbed, failed, task(lastStatus="RUNNING")).state is State.RUNNING
    assert told(stubbed, failed, task()).state is State.SUCCEEDED


def test_a_task_that_ecs_has_forgotten_meanwhile_is_not_known(stubbed: tuple[Any, Stubber]) -> None:
    client, stubber = stubbed
    assert told(stubbed).state is State.WORKER_LOST
    for _ in range(2):
        stubber.add_response("list_tasks", {"taskArns": []})
    assert Ending(client, TARGET).ask().state is State.WORKER_LOST


@pytest.mark.parametrize("code", ["ThrottlingException", "ClusterNotFoundException", "AccessDeniedException"])
def test_a_fault_of_an_ask_tells_nothing(stubbed: tuple[Any, Stubber], code: str) -> None:
    client, stubber = stubbed
    stubber.add_client_error("list_tasks", code)
    ending = Ending(client, TARGET)
    outcome = ending.transport.deliver(ending.delivery(Errand.STOP))
    assert (outcome.state, outcome.told) == (State.FAILED, False)


def test_overrides_that_ecs_never_takes_are_not_sent(stubbed: tuple[Any, Stubber]) -> None:
    ending = Ending(stubbed[0], TARGET)
    ending.first = delivery_to(TARGET, Payload(b'"' + b"x" * LARGEST_OVERRIDES + b'"'))
    outcome = ending.begin()
    assert (outcome.state, outcome.permanent) == (State.FAILED, True)
    assert "ECS takes 8,192" in str(outcome.error)
