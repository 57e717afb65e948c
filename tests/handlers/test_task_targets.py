"""Jobs whose targets are tasks of ECS, over the API: how they are asked for, shown and refused."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tests.handlers.handlers import Api
from tests.support.examples import ACME

ALICE = "arn:aws:iam::123456789012:user/alice"
ARN = "arn:aws:ecs:us-east-1:123456789012:{}"
TARGET = {
    "type": "ecs",
    "taskDefinitionArn": ARN.format("task-definition/report:3"),
    "clusterArn": ARN.format("cluster/jobs"),
    "container": "app",
}


@pytest.fixture
def api() -> Api:
    api = Api()
    allowed = (ARN.format("task-definition/report*"), ARN.format("cluster/jobs"), "arn:aws:ecs:eu-west-1:*")
    api.clockwork.clients.put(msgspec.structs.replace(ACME, principals=(ALICE,), allowed_target_arns=allowed))
    return api


def job(target: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"clientId": "acme", "schedule": {"delaySeconds": 60}, "target": target, **fields}


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"command": ["print", "all"], "environment": {"COLOUR": "red"}, "launchType": "EC2"},
        {"launchType": "FARGATE", "subnets": ["subnet-1"], "securityGroups": ["sg-1"], "assignPublicIp": True},
    ],
)
def test_a_job_shows_the_task_that_it_starts(api: Api, more: dict[str, Any]) -> None:
    sent = TARGET | more
    created = api.call("POST", "/v1/jobs", job(sent, completion={"mode": "end"}), caller=ALICE)
    assert created.status == 201, created.text
    assert api.call("GET", f"/v1/jobs/{created.body['jobId']}", caller=ALICE).body["target"] == sent


@pytest.mark.parametrize(
    ("more", "pointer", "detail"),
    [
        ({"clusterArn": ARN.format("cluster/others")}, "/target/clusterArn", "allowedTargetArns"),
        ({"taskDefinitionArn": ARN.format("task-definition/x")}, "/target/taskDefinitionArn", "allowedTargetArns"),
        ({"clusterArn": "arn:aws:ecs:eu-west-1:123456789012:cluster/jobs"}, "/target/clusterArn", "the region and the"),
        ({"launchType": "FARGATE"}, "/target/subnets", "name those of the task"),
        ({"securityGroups": ["sg-1"]}, "/target/subnets", "name those of the task"),
        ({"environment": {"CLOCKWORK_PAYLOAD": "x"}}, "/target/environment/CLOCKWORK_PAYLOAD", "which Clockwork sets"),
        ({"command": ["x" * 6_000]}, "/target/command", "6,000 characters"),
        ({"container": ""}, "/target/container", "1"),
    ],
)
def test_a_task_that_could_not_start_is_refused(api: Api, more: dict[str, Any], pointer: str, detail: str) -> None:
    refused = api.call("POST", "/v1/jobs", job(TARGET | more), caller=ALICE)
    assert refused.status == 422
    found = {one["pointer"]: one["detail"] for one in refused.body["errors"]}
    assert detail in found[pointer]


@pytest.mark.parametrize(
    ("payload", "detail"),
    [
        ("x" * 6_000, "is too large: with command"),
        ("a\0", "holds U+0000"),
        ({"a": "ü" * 1_200}, "large"),
    ],
)
def test_a_payload_that_is_no_variable_is_refused(api: Api, payload: Any, detail: str) -> None:
    refused = api.call("POST", "/v1/jobs", job(TARGET, payload=payload), caller=ALICE)
    assert refused.status == 422
    ((pointer, told),) = [(one["pointer"], one["detail"]) for one in refused.body["errors"]]
    assert (pointer, detail in told) == ("/payload", True)
