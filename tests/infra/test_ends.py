"""The rule that tells ends, its queue, and the rights to ask and stop: there only if a target tells its end."""

from __future__ import annotations

import json
from typing import Any

import pytest

from infra.ends import parts_of
from tests.infra.conftest import synthesize
from tests.infra.template import Template, as_list

MACHINE = "arn:aws:states:us-east-1:123456789012:stateMachine:orders"


@pytest.fixture(scope="module")
def stack() -> Template:
    return synthesize(targetArns=[MACHINE, f"{MACHINE}:PROD", f"{MACHINE}-?*", "arn:aws:states:*"])


CLUSTER = "arn:aws:ecs:us-east-1:123456789012:cluster/jobs"
DEFINITION = "arn:aws:ecs:us-east-1:123456789012:task-definition/report:*"
ROLE = "arn:aws:iam::123456789012:role/Report"


@pytest.fixture(scope="module")
def tasks() -> Template:
    return synthesize(targetArns=[CLUSTER, f"{CLUSTER}-?*", DEFINITION, ROLE])


def rule(template: Template) -> dict[str, Any]:
    (one,) = [one for one in template.all("Events::Rule").values() if "EventPattern" in one["Properties"]]
    return dict(one["Properties"])


def test_a_stack_without_state_machines_has_neither_rule_nor_queue(account: Template) -> None:
    assert all("EventPattern" not in one["Properties"] for one in account.all("Events::Rule").values())
    assert "states:" not in json.dumps(account.body)


def test_the_rule_takes_ends_of_what_clockwork_began_at_the_opened_targets_and_no_others(stack: Template) -> None:
    assert rule(stack)["EventPattern"] == {
        "source": ["aws.states"],
        "detail-type": ["Step Functions Execution Status Change"],
        "detail": {
            "stateMachineArn": [
                MACHINE,
                {"wildcard": f"{MACHINE}-*"},
                {"wildcard": "arn:aws:states:*:*:stateMachine:*"},
            ],
            "status": ["SUCCEEDED", "FAILED", "TIMED_OUT", "ABORTED"],
            "name": [{"prefix": "clockwork-"}],
        },
    }


def test_nobody_but_the_rule_puts_events_into_its_queue(stack: Template) -> None:
    (policy,) = [
        one["Properties"]["PolicyDocument"]["Statement"]
        for one in stack.all("SQS::QueuePolicy").values()
        if "events.amazonaws.com" in json.dumps(one)
    ]
    (allowed,) = [one for one in policy if one["Effect"] == "Allow"]
    assert allowed["Principal"] == {"Service": "events.amazonaws.com"}
    assert "aws:SourceArn" in json.dumps(allowed["Condition"])
    assert any("aws:SecureTransport" in json.dumps(one) for one in policy if one["Effect"] == "Deny")


def test_the_deliverer_asks_and_stops_what_it_began_and_nothing_else(stack: Template) -> None:
    role = stack.function("Deliverer")["Properties"]["Role"]["Fn::GetAtt"][0]
    rights: dict[str, list[str]] = {}
    for one in stack.all("IAM::Policy").values():
        for statement in one["Properties"]["PolicyDocument"]["Statement"]:
            for action in as_list(statement["Action"]):
                if action.startswith("states:"):
                    assert one["Properties"]["Roles"] == [{"Ref": role}]
                    rights.setdefault(action, []).extend(as_list(statement["Resource"]))
    executions = "arn:aws:states:us-east-1:123456789012:execution:orders"
    any_of = "arn:aws:states:*:*:execution:*:clockwork-*"
    began = [any_of, f"{executions}-?*:clockwork-*", f"{executions}:clockwork-*"]
    opened = sorted([MACHINE, f"{MACHINE}:PROD", f"{MACHINE}-?*", "arn:aws:states:*"])
    assert {action: sorted(resources) for action, resources in rights.items()} == {
        "states:StartExecution": opened,
        "states:DescribeStateMachine": opened,
        "states:DescribeExecution": sorted(began),
        "states:StopExecution": sorted(began),
    }


def test_the_deliverer_takes_the_events_by_its_alias(stack: Template) -> None:
    queue = next(
        key for key, one in stack.all("SQS::Queue").items() if one["Properties"]["QueueName"].endswith("-Ends")
    )
    (source,) = [
        one["Properties"]
        for one in stack.all("Lambda::EventSourceMapping").values()
        if one["Properties"]["EventSourceArn"] == {"Fn::GetAtt": [queue, "Arn"]}
    ]
    assert "DelivererLive" in json.dumps(source["FunctionName"])
    assert source["FunctionResponseTypes"] == ["ReportBatchItemFailures"]


def test_the_rule_takes_ends_of_tasks_that_clockwork_started_in_the_opened_clusters(tasks: Template) -> None:
    assert rule(tasks)["EventPattern"] == {
        "source": ["aws.ecs"],
        "detail-type": ["ECS Task State Change"],
        "detail": {
            "clusterArn": [CLUSTER, {"wildcard": f"{CLUSTER}-*"}],
            "lastStatus": ["STOPPED"],
            "startedBy": [{"prefix": "clockwork-"}],
        },
    }


def test_task_definitions_without_a_cluster_have_neither_rule_nor_queue() -> None:
    template = synthesize(targetArns=[DEFINITION])
    assert all("EventPattern" not in one["Properties"] for one in template.all("Events::Rule").values())
    assert all(not one["Properties"]["QueueName"].endswith("-Ends") for one in template.all("SQS::Queue").values())


def test_tasks_start_and_stop_within_the_opened_clusters_with_opened_roles_and_no_others(tasks: Template) -> None:
    opened = [CLUSTER, f"{CLUSTER}-?*", DEFINITION]
    found = {
        as_list(statement["Action"])[0]: statement
        for statement in tasks.statements("Deliverer")
        if as_list(statement["Action"])[0].startswith(("ecs:", "iam:"))
    }
    assert {action: as_list(one["Resource"]) for action, one in found.items()} == {
        "ecs:RunTask": [DEFINITION],
        "ecs:ListTasks": ["*"],
        "ecs:DescribeTasks": ["arn:aws:ecs:us-east-1:123456789012:task/*/*"],
        "iam:PassRole": [ROLE],
    }
    assert as_list(found["ecs:DescribeTasks"]["Action"]) == ["ecs:DescribeTasks", "ecs:StopTask"]
    conditions = {action: one["Condition"] for action, one in found.items()}
    assert conditions.pop("iam:PassRole") == {"StringEquals": {"iam:PassedToService": "ecs-tasks.amazonaws.com"}}
    assert [*conditions.values()] == [{"ArnLike": {"ecs:cluster": opened}}] * 3


@pytest.mark.parametrize(
    ("arn", "parts"),
    [
        (MACHINE, (MACHINE, "arn:aws:states:us-east-1:123456789012", "orders")),
        (f"{MACHINE}:7", (f"{MACHINE}:7", "arn:aws:states:us-east-1:123456789012", "orders")),
        (CLUSTER, (CLUSTER, "arn:aws:ecs:us-east-1:123456789012", "jobs")),
        ("arn:aws:states:us-east-1:*", ("arn:aws:states:us-east-1:*", "arn:aws:states:us-east-1:*", "*")),
    ],
)
def test_the_parts_of_an_arn(arn: str, parts: tuple[str, str, str]) -> None:
    assert parts_of(arn) == parts
