"""ECS targets: a task of a task definition for each execution of a job.

An attempt succeeds once ECS has taken the task, or, with the completion `end`, once the task has stopped with the exit
code 0 of its container. RunTask takes a client token once, for 24 hours, and until an hour after its task has stopped:
https://docs.aws.amazon.com/AmazonECS/latest/APIReference/ECS_Idempotency.html

How it fails. ECS has no room: the answer has failures, and the token gives the same ones from then on. Each attempt
therefore has a token more, and goes through the earlier ones first: one of them may have had a task and lost its
answer. With another attempt's number in its variables, that is a conflict that names the task.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar

import msgspec

from clockwork.domain.ids import derive
from clockwork.targets.message import Message, Payload, Told, cut
from clockwork.targets.service import (
    EndEvents,
    Entry,
    NoEnvelope,
    Refused,
    RoleArn,
    Service,
    ServiceTarget,
    Taken,
    Undeliverable,
)
from clockwork.targets.target import Asked, Asking, Earlier

ECS = Service(
    name="ECS",
    client="ecs",
    arn_field="task_definition_arn",
    resource="task-definition/[A-Za-z0-9_-]+(:[0-9]+)?",
    a_thing="a task definition",
    things="clusters and task definitions",
    action="ecs:RunTask",
    permanent=frozenset(
        f"{fault}Exception"
        for fault in (
            "InvalidParameter",
            "PlatformTaskDefinitionIncompatibility",
            "PlatformUnknown",
            "UnsupportedFeature",
        )
    ),
    takes="task",
    within="ecs:cluster",
    passes_roles_to="ecs-tasks.amazonaws.com",
    of_ends={"*": ("ecs:ListTasks",), "{head}:task/*/*": ("ecs:DescribeTasks", "ecs:StopTask")},
)
#: The beginning of `startedBy` of every task that Clockwork starts, and of the variables that each gets.
NAMES, VARIABLES = "clockwork-", "CLOCKWORK_"
#: The most characters of overrides, as JSON: https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_RunTask.html
LARGEST_OVERRIDES = 8_192
#: A job may name so many of them. The rest is for the facts.
LARGEST_OF_JOB = 6_000
#: An attempt goes through so many tokens at the most. Without an answer to any of them for so long, it starts anew.
MOST_TOKENS = 10
#: Reasons why ECS started no task that pass. All others are of the request.
#: https://docs.aws.amazon.com/AmazonECS/latest/developerguide/api_failures_messages.html
_PASSING = ("RESOURCE:", "AGENT", "Capacity")
#: Of a request that would be taken by a cluster with instances.
_NO_INSTANCES = "No Container Instances"
#: The stop code of a task that has ended by itself.
_ENDED = "EssentialContainerExited"


def _not_ours(environment: dict[str, str], asking: Asking, _: Earlier) -> dict[str, str]:
    for name in environment:
        if name.startswith(VARIABLES):
            asking.report("/target/environment", f"must not begin with {VARIABLES}, which Clockwork sets", name)
    return environment


class EcsTarget(ServiceTarget, frozen=True, tag="ecs"):
    """An ECS task definition and a cluster that the client's allowedTargetArns list."""

    task_definition_arn: Annotated[str, ECS.asked(max_length=400)]
    cluster_arn: Annotated[
        str,
        Asked(
            listed=ECS.listed,
            max_length=400,
            pattern=r"^arn:aws[a-z-]*:ecs:[a-z0-9-]+:[0-9]{12}:cluster/[A-Za-z0-9_-]+\Z",
        ),
    ]
    #: It gets the variables, the environment and the command. Its exit code decides.
    container: Annotated[
        str,
        Asked(
            min_length=1,
            max_length=255,
            description="it gets payload and ids as variables `CLOCKWORK_*`, and its exit code decides",
        ),
    ]
    command: Annotated[
        list[str] | None, Asked(min_length=1, max_length=100, description="in place of the container's own")
    ] = None
    environment: Annotated[
        dict[str, str], Asked(check=_not_ours, max_length=50, description="more variables of the container")
    ] = msgspec.field(default_factory=dict)
    launch_type: Annotated[
        str | None, Asked(values=("FARGATE", "EC2", "EXTERNAL"), description="the cluster's own unless given")
    ] = None
    subnets: Annotated[
        list[str] | None, Asked(min_length=1, max_length=16, description="of a task with a network of its own")
    ] = None
    security_groups: Annotated[list[str] | None, Asked(min_length=1, max_length=5)] = None
    assign_public_ip: Annotated[bool | None, Asked()] = None
    role_arn: RoleArn = None
    envelope: NoEnvelope = None

    shown_as: ClassVar[str] = "An ECS task definition and its cluster."
    service: ClassVar[Service] = ECS
    is_enveloped: ClassVar[bool] = False
    tells_end: ClassVar[bool] = True
    end_events: ClassVar[EndEvents | None] = EndEvents(
        "aws.ecs",
        "ECS Task State Change",
        "clusterArn",
        "cluster/",
        {"lastStatus": ["STOPPED"], "startedBy": [{"prefix": NAMES}]},
    )

    @classmethod
    def fault_of_payload(cls, payload: Payload, asked: Any) -> str | None:
        """Why the payload is no environment variable that ECS takes."""
        if payload.is_text and b"\0" in payload.body:
            return "holds U+0000, which no environment variable takes"
        if _length(_overrides(asked, {}, payload)) <= LARGEST_OF_JOB:
            return None
        return f"is too large: with command and environment, ecs targets take {LARGEST_OF_JOB:,} characters of JSON"

    def faults(self, asking: Asking) -> Iterable[tuple[str, str]]:  # noqa: ARG002 - no fault is of who asks
        """A cluster elsewhere, a network without subnets, and overrides that are too large without any payload."""
        if self.cluster_arn.split(":")[3:5] != self.task_definition_arn.split(":")[3:5]:
            yield "clusterArn", "must be of the region and the account of the task definition"
        needs = (self.security_groups is not None, self.assign_public_ip is not None, self.launch_type == "FARGATE")
        if self.subnets is None and any(needs):
            yield "subnets", "are needed with securityGroups, assignPublicIp or FARGATE: name those of the task"
        if _length(_overrides(self, {}, Payload(b"null"))) > LARGEST_OF_JOB:
            yield "command", f"is too large: with environment, {LARGEST_OF_JOB:,} characters of JSON are taken"

    def entry(self, message: Message) -> Entry:
        """The parameters of RunTask, with all of its tokens."""
        overrides = _overrides(self, message.facts, message.payload)
        if (length := _length(overrides)) > LARGEST_OVERRIDES:
            raise Undeliverable(f"the task's overrides have {length:,} characters, ECS takes {LARGEST_OVERRIDES:,}")
        asked = {
            "cluster": self.cluster_arn,
            "taskDefinition": self.task_definition_arn,
            "count": 1,
            "startedBy": _started_by(message.execution_id, message.begun),
            "overrides": overrides,
            "launchType": self.launch_type,
            "networkConfiguration": self._network(),
        }
        return {name: value for name, value in asked.items() if value is not None} | {"tokens": [*_tokens(message)]}

    def send(self, client: Any, entries: Sequence[Entry]) -> Taken:
        """Start one task. If an earlier attempt has started it, the service has taken it."""
        (entry,) = entries
        refused: Refused | None = None
        asked = {name: value for name, value in entry.items() if name != "tokens"}
        for token in entry["tokens"]:
            refused = self._run(client, {**asked, "clientToken": token})
            if refused is None:
                return {0: None}
        if refused is not None and not refused.code.startswith(_PASSING):
            raise Undeliverable(f"{self.arn} did not take the task: {refused}")
        return {0: refused}

    def check_end(self, client: Any) -> None:
        """ECS says of every task when it ends."""

    def began(self, name: str, execution_id: str, begun: int) -> bool:
        """Whether it is the name of the task: its cluster, its task definition's family, and who started it."""
        return name == _name(self.cluster_arn, self.task_definition_arn, _started_by(execution_id, begun))

    def ask(self, client: Any, message: Message) -> Told:
        """Describe the task. ECS forgets a task about an hour after it has stopped."""
        started_by = _started_by(message.execution_id, message.begun)
        told = [_told(task, self.container) for task in self._tasks(client, started_by)]
        if told:
            order = ("running", "succeeded", "failed")
            return min(told, key=lambda one: order.index(one.status))
        name = _name(self.cluster_arn, self.task_definition_arn, started_by)
        return Told(name, "unknown", error=f"{self.cluster_arn} knows no task that {started_by} started")

    def stop(self, client: Any, message: Message) -> None:
        """Stop the task. ECS takes that of one that has stopped, and changes nothing."""
        why = "its job was cancelled, or its timeoutSeconds are over"
        for task in self._tasks(client, _started_by(message.execution_id, message.begun)):
            client.stop_task(cluster=self.cluster_arn, task=task["taskArn"], reason=why)

    @classmethod
    def told_by(cls, detail: Mapping[str, Any]) -> Told | None:
        """The word of a Task State Change. The override says which container decides, and of which execution it is.

        https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs_task_events.html
        """
        overrides = detail.get("overrides", {}).get("containerOverrides") or [{}]
        said = {one["name"]: one["value"] for one in overrides[0].get("environment", ())}
        execution_id = said.get(f"{VARIABLES}EXECUTION_ID")
        return _told(detail, overrides[0]["name"], execution_id) if isinstance(execution_id, str) else None

    def _run(self, client: Any, asked: Mapping[str, Any]) -> Refused | None:
        """Why ECS has no task of this token; None if it has one."""
        try:
            answer = client.run_task(**asked)
        except client.exceptions.ConflictException as fault:
            # The token is of an earlier attempt. If that had a task, the conflict names it.
            return None if fault.response.get("resourceIds") else Refused("RESOURCE:TOKEN", "it was refused before")
        except client.exceptions.InvalidParameterException as fault:
            if _NO_INSTANCES in str(fault):
                return Refused("RESOURCE:INSTANCES", fault.response["Error"].get("Message", ""))
            raise
        if answer.get("tasks"):
            return None
        why: Mapping[str, str] = next(iter(answer.get("failures", ())), {})
        return Refused(why.get("reason", "RESOURCE:NONE"), why.get("detail", "no task was started"))

    def _network(self) -> dict[str, Any] | None:
        if self.subnets is None:
            return None
        network: dict[str, Any] = {"subnets": self.subnets}
        network |= {} if self.security_groups is None else {"securityGroups": self.security_groups}
        network |= {"assignPublicIp": "ENABLED" if self.assign_public_ip else "DISABLED"}
        return {"awsvpcConfiguration": network}

    def _tasks(self, client: Any, started_by: str) -> list[dict[str, Any]]:
        """The tasks that run, or else those that have stopped: a task that stops between the calls is found.

        There are several only if ECS forgot the token before the answer to it was known.
        """
        for status in ("RUNNING", "STOPPED"):
            found = client.list_tasks(cluster=self.cluster_arn, startedBy=started_by, desiredStatus=status)
            if arns := found.get("taskArns"):
                return list(client.describe_tasks(cluster=self.cluster_arn, tasks=arns).get("tasks", ()))
        return []


def _started_by(execution_id: str, begun: int) -> str:
    """The `startedBy` of a task: 32 characters, by which events tell it and lists find it."""
    return f"{NAMES}{derive('task', execution_id, begun)}"


def _tokens(message: Message) -> Iterator[str]:
    """The client tokens of an attempt and of those before it. A receiver that reports has its own token in its task."""
    first = message.attempt if message.token is not None else max(1, message.attempt - MOST_TOKENS + 1)
    for attempt in range(first, message.attempt + 1):
        yield derive("client-token", message.execution_id, message.begun, attempt)


def _name(cluster_arn: str, task_definition_arn: str, started_by: str) -> str:
    """The name of a task, whichever revision of its task definition it has."""
    family = ":".join(task_definition_arn.split(":")[:6])
    return f"{cluster_arn} {family} {started_by}"


def _overrides(asked: Any, facts: Mapping[str, str | int], payload: Payload) -> dict[str, Any]:
    said = {VARIABLES + re.sub("([A-Z])", r"_\1", name).upper(): str(fact) for name, fact in facts.items()}
    environment = {**asked.environment, **said, f"{VARIABLES}PAYLOAD": payload.body.decode()}
    override: dict[str, Any] = {"name": asked.container}
    override |= {} if asked.command is None else {"command": asked.command}
    override["environment"] = [{"name": name, "value": value} for name, value in environment.items()]
    return {"containerOverrides": [override]}


def _length(overrides: Mapping[str, Any]) -> int:
    return len(json.dumps(overrides))


def _told(task: Mapping[str, Any], decides: str, execution_id: str = "") -> Told:
    """The word of an answer of DescribeTasks, or of an event's detail, which have the same fields.

    The container that the target names decides, as ECS does not tell which ones are essential: a sidecar that is
    killed behind it has a code of its own. A task that was broken off has failed, whatever its code.
    """
    name = _name(task["clusterArn"], task["taskDefinitionArn"], task.get("startedBy", ""))
    if task["lastStatus"] != "STOPPED":
        return Told(name, "running", execution_id=execution_id)
    containers = {one["name"]: one for one in task.get("containers", ())}
    codes = {one: container["exitCode"] for one, container in containers.items() if "exitCode" in container}
    code, stop_code = codes.get(decides), task.get("stopCode")
    if code == 0 and stop_code == _ENDED:
        return Told(name, "succeeded", json.dumps({"exitCode": code, "exitCodes": codes}).encode(), None, execution_id)
    how = f"{decides} has no exit code" if code is None else f"{decides} ended with the exit code {code}"
    others = ", ".join(f"{one} {its}" for one, its in codes.items() if one != decides)
    why = containers.get(decides, {}).get("reason")
    words = (f"{task['taskArn']}: {how}", others and f"beside {others}", stop_code, task.get("stoppedReason"), why)
    return Told(name, "failed", None, cut(": ".join(filter(None, words))), execution_id)
