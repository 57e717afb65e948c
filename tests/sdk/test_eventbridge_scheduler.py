"""Schedules of EventBridge Scheduler become jobs that the API takes, or are refused with what to do."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest

from clockwork_client import Clockwork
from clockwork_client.eventbridge_scheduler import Unmapped, cron_of, from_scheduler
from tests.handlers.handlers import Api
from tests.sdk.edge import InMemory, client_of
from tests.support.examples import ADMIN, ALICE

_ARN = "arn:aws:{}:us-east-1:123456789012:{}".format
MACHINE, STREAM, QUEUE = _ARN("states", "stateMachine:ship"), _ARN("kinesis", "stream/orders"), _ARN("sqs", "orders")
FUNCTION, TOPIC, BUS = _ARN("lambda", "function:ship"), _ARN("sns", "orders"), _ARN("events", "event-bus/default")
CLUSTER, TASK = _ARN("ecs", "cluster/jobs"), _ARN("ecs", "task-definition/report:7")
INPUT = json.dumps({"order": 17})
NETWORK = {"awsvpcConfiguration": {"Subnets": ["subnet-1"], "SecurityGroups": ["sg-1"], "AssignPublicIp": "ENABLED"}}
OVERRIDES = {
    "containerOverrides": [
        {"name": "app", "command": ["report", "all"], "environment": [{"name": "COLOUR", "value": "red"}]}
    ]
}


@pytest.fixture
def cw() -> Iterator[Clockwork]:
    """A client that may send to all of these."""
    api = Api()
    services = ("states", "kinesis", "lambda", "sns", "events", "ecs")
    lists = {"allowedTargetArns": [f"arn:aws:{one}:us-east-1:*" for one in services]}
    body = {"principals": [ALICE], "allowedQueueArns": [QUEUE, QUEUE + "-dead"], **lists}
    assert api.call("PUT", "/v1/clients/acme", body, caller=ADMIN).status == 200
    with client_of(InMemory(api)) as client:
        yield client


def refusal(cw: Clockwork, made: dict[str, Any]) -> Exception | None:
    """Why the API does not take a job; None if it does."""
    (result,) = cw.schedule_many([made])
    return result.error


def schedule(arn: str = MACHINE, expression: str = "rate(5 minutes)", **more: Any) -> dict[str, Any]:
    """The answer of GetSchedule, as boto3 has it."""
    target = {"Arn": arn, "RoleArn": "arn:aws:iam::123456789012:role/Scheduler", "Input": INPUT}
    return {
        "Name": "nightly",
        "GroupName": "default",
        "State": "ENABLED",
        "ScheduleExpression": expression,
        "ScheduleExpressionTimezone": "UTC",
        "FlexibleTimeWindow": {"Mode": "OFF"},
        "CreationDate": datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
        **more,
        "Target": {**target, **more.get("Target", {})},
    }


@pytest.mark.parametrize(
    ("found", "target"),
    [
        (schedule(MACHINE), {"type": "stepFunctions", "stateMachineArn": MACHINE, "envelope": False}),
        (
            schedule(
                "arn:aws:scheduler:::aws-sdk:sfn:startExecution",
                Target={"Input": json.dumps({"StateMachineArn": MACHINE, "Input": INPUT})},
            ),
            {"type": "stepFunctions", "stateMachineArn": MACHINE, "envelope": False},
        ),
        (
            schedule(STREAM, Target={"KinesisParameters": {"PartitionKey": "order-17"}}),
            {"type": "kinesis", "streamArn": STREAM, "partitionKey": "order-17", "envelope": False},
        ),
        (schedule(FUNCTION), {"type": "lambda", "functionArn": FUNCTION, "envelope": False}),
        (schedule(TOPIC), {"type": "sns", "topicArn": TOPIC}),
        (schedule(QUEUE), {"type": "sqs", "queueArn": QUEUE}),
        (
            schedule(BUS, Target={"EventBridgeParameters": {"DetailType": "due", "Source": "shop"}}),
            {"type": "eventbridge", "busArn": BUS, "source": "shop", "detailType": "due", "envelope": False},
        ),
    ],
)
def test_the_input_travels_alone_to_the_same_target(cw: Clockwork, found: Any, target: dict[str, Any]) -> None:
    made = from_scheduler(found)
    assert (made["target"], made["payload"], made["jobKey"]) == (target, {"order": 17}, "nightly")
    assert refusal(cw, made) is None


def task(**more: Any) -> dict[str, Any]:
    parameters = {"TaskDefinitionArn": TASK, "TaskCount": 1, "LaunchType": "FARGATE", "NetworkConfiguration": NETWORK}
    return schedule(CLUSTER, Target={"EcsParameters": {**parameters, **more}, "Input": json.dumps(OVERRIDES)})


def test_what_a_task_overrides_are_fields_of_its_target(cw: Clockwork) -> None:
    # As the console of AWS writes them, whatever is chosen.
    made = from_scheduler(
        task(PlatformVersion="LATEST", EnableECSManagedTags=False, EnableExecuteCommand=False, Tags=[])
    )
    assert made["target"] == {
        "type": "ecs",
        "taskDefinitionArn": TASK,
        "clusterArn": CLUSTER,
        "container": "app",
        "command": ["report", "all"],
        "environment": {"COLOUR": "red"},
        "launchType": "FARGATE",
        "subnets": ["subnet-1"],
        "securityGroups": ["sg-1"],
        "assignPublicIp": True,
    }
    assert made["payload"] is None
    assert refusal(cw, made) is None


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (schedule(State="DISABLED"), "is disabled"),
        (schedule(Target={"Input": '{"at":"<aws.scheduler.scheduled-time>"}'}), "<aws.scheduler"),
        (schedule("arn:aws:scheduler:::aws-sdk:ec2:stopInstances"), "have a Lambda function call it"),
        (schedule("arn:aws:scheduler:::aws-sdk:sfn:startExecution"), "needs a StateMachineArn"),
        (task(TaskCount=2), "start one task"),
        (task(PlatformVersion="1.4.0", Group="g"), "has Group, PlatformVersion: leave that out"),
        (schedule(CLUSTER, Target={"EcsParameters": {"TaskDefinitionArn": TASK}, "Input": None}), "name one container"),
        (schedule(expression="cron(0 10 * * ? 2027)"), "the year 2027"),
        (schedule(expression="at(2027-03-28T02:30:00)", ScheduleExpressionTimezone="Europe/Berlin"), "the clock skips"),
        (schedule(expression="soon(1)"), "none of at"),
        # It stays enabled once it has fired, unless ActionAfterCompletion is DELETE.
        (schedule(expression="at(2022-06-01T09:00:00)"), "would fire again here"),
    ],
)
def test_what_has_no_counterpart_is_refused_with_what_to_do(found: dict[str, Any], words: str) -> None:
    with pytest.raises(Unmapped, match=words.replace("(", r"\(")):
        from_scheduler(found)


def test_the_times_of_a_schedule(cw: Clockwork) -> None:
    window = {"Mode": "FLEXIBLE", "MaximumWindowInMinutes": 3}
    rate = from_scheduler(schedule(EndDate="2027-01-01T00:00:00Z", FlexibleTimeWindow=window))
    assert refusal(cw, rate) is None
    assert rate["schedule"] == {
        "every": {"seconds": 300},
        "anchorAt": "2026-01-02T03:04:05.000Z",
        "endAt": "2027-01-01T00:00:00.000Z",
        "jitterSeconds": 180,
    }
    berlin = {"ScheduleExpressionTimezone": "Europe/Berlin", "Name": "once"}
    once = from_scheduler(schedule(expression="at(2030-06-01T09:00:00)", **berlin))
    assert once["schedule"]["at"] == "2030-06-01T07:00:00.000Z"
    assert refusal(cw, once) is None


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("0 10 ? * 2-6 *", "0 10 ? * 1-5"),
        ("0 10 ? * MON-FRI *", "0 10 ? * MON-FRI"),
        ("0 10 ? * 1,7 *", "0 10 ? * 0,6"),
        ("0 10 ? * 6L *", "0 10 ? * 5L"),
        ("0 10 ? * L *", "0 10 ? * 6"),
        ("0 10 ? * 2,L *", "0 10 ? * 1,6"),
        ("0 10 LW * ? *", "0 10 LW * ?"),
        ("0 10 ? * FRI#2 *", "0 10 ? * FRI#2"),
        ("0 10 ? * 3#2 *", "0 10 ? * 2#2"),
        ("0 10 ? * 2/2 *", "0 10 ? * 1-6/2"),
        ("0/15 8-17 L * ? *", "0/15 8-17 L * ?"),
        ("15 12 15W 1/3 ? *", "15 12 15W 1/3 ?"),
    ],
)
def test_weekdays_count_from_one_there(cw: Clockwork, theirs: str, ours: str) -> None:
    assert cron_of(theirs) == ours
    made = from_scheduler(schedule(expression=f"cron({theirs})", ScheduleExpressionTimezone="Europe/Berlin"))
    assert made["schedule"] == {"cron": ours, "timezone": "Europe/Berlin", "dstGap": "skip"}
    assert refusal(cw, made) is None


def test_what_follows_a_failure(cw: Clockwork) -> None:
    policy = {"MaximumRetryAttempts": 3, "MaximumEventAgeInSeconds": 600}
    dead = {"Arn": QUEUE + "-dead"}
    made = from_scheduler(schedule(GroupName="billing", Target={"RetryPolicy": policy, "DeadLetterConfig": dead}))
    assert made["jobKey"] == "billing/nightly"
    assert made["retryPolicy"] == {"maxAttempts": 4, "maxAgeSeconds": 600}
    assert made["onFailure"] == {"type": "sqs", "queueArn": QUEUE + "-dead"}
    assert refusal(cw, made) is None
    whole = {"MaximumRetryAttempts": 185, "MaximumEventAgeInSeconds": 86_400}
    assert "retryPolicy" not in from_scheduler(schedule(Target={"RetryPolicy": whole}))


@pytest.mark.parametrize("arn", [QUEUE, TOPIC, STREAM])
@pytest.mark.parametrize(
    "given", ["due", '"due"', "17", "1.10", " due ", "null", "NaN", '{"a":NaN}', "[1e400]", "[" * 9_999]
)
def test_a_text_is_delivered_as_it_is_where_a_service_takes_texts(cw: Clockwork, arn: str, given: str) -> None:
    made = from_scheduler(schedule(arn, Target={"Input": given}))
    assert made["payload"] == given
    assert refusal(cw, made) is None


@pytest.mark.parametrize("arn", [MACHINE, FUNCTION])
@pytest.mark.parametrize(("given", "sent"), [('"due"', "due"), ("17", 17), ("null", None), ('{"a":[1]}', {"a": [1]})])
def test_an_input_is_a_value_where_a_service_takes_json_alone(cw: Clockwork, arn: str, given: str, sent: Any) -> None:
    made = from_scheduler(schedule(arn, Target={"Input": given}))
    assert made["payload"] == sent
    assert refusal(cw, made) is None


@pytest.mark.parametrize("arn", [MACHINE, FUNCTION, BUS])
@pytest.mark.parametrize("given", ["due", "NaN", '{"a":"\\ud800"}', "[" * 9_999])
def test_what_is_no_json_is_refused_where_a_service_takes_no_other(arn: str, given: str) -> None:
    parameters = {"EventBridgeParameters": {"DetailType": "due", "Source": "shop"}}
    with pytest.raises(Unmapped, match="not valid JSON"):
        from_scheduler(schedule(arn, Target={"Input": given, **parameters}))


@pytest.mark.parametrize(
    ("inner", "sent"), [({}, {}), ({"Input": INPUT}, {"order": 17}), ({"Input": {"a": 1}}, {"a": 1})]
)
def test_a_call_that_names_no_input_starts_an_execution_with_an_empty_object(inner: Any, sent: Any) -> None:
    asked = json.dumps({"StateMachineArn": MACHINE, **inner})
    made = from_scheduler(schedule("arn:aws:scheduler:::aws-sdk:sfn:startExecution", Target={"Input": asked}))
    assert made["payload"] == sent


def test_a_schedule_that_fires_once_fires_in_its_window_and_at_the_same_instant_whenever_it_is_asked(
    cw: Clockwork,
) -> None:
    window = {"Mode": "FLEXIBLE", "MaximumWindowInMinutes": 15}
    once = partial(schedule, expression="at(2030-06-01T09:00:00)", FlexibleTimeWindow=window)
    made = [from_scheduler(once(Name=f"once-{number}")) for number in range(200)]
    ats = [datetime.fromisoformat(one["schedule"]["at"].replace("Z", "+00:00")) for one in made]
    begin = datetime(2030, 6, 1, 9, tzinfo=UTC)
    assert all(begin <= at < begin + timedelta(minutes=15) for at in ats)
    assert len({at.minute for at in ats}) == 15
    assert from_scheduler(once(Name="once-7")) == made[7]
    assert refusal(cw, made[7]) is None
