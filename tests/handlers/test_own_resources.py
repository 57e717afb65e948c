"""Clockwork's own resources are no targets: no client may list them, and no job may reach them through a wildcard."""

from __future__ import annotations

from typing import Any

import pytest

from clockwork.edge.requests.own_resources import is_own
from clockwork.settings import Settings
from tests.handlers.handlers import Api, job_body
from tests.support.examples import ADMIN, ALICE

ACCOUNT = "123456789012"
QUEUES = f"https://sqs.us-east-1.amazonaws.com/{ACCOUNT}"
#: As the stack fills them in; the names that CloudFormation gives, and one that it had to cut.
SETTINGS: dict[str, Any] = {
    "stack_name": "Clockwork",
    "release_queues": 2,
    "release_queue_url": f"{QUEUES}/Clockwork-QueuesRelease1A2B-3C4D",
    "release_dead_letter_queue_url": f"{QUEUES}/Clockwork-QueuesDeadLetters1A2B-3C4D",
    "ordered_release_queue_url": f"{QUEUES}/cut-short-OrderedRelease.fifo",
    "ordered_release_dead_letter_queue_url": f"{QUEUES}/cut-short-OrderedDead.fifo",
    "inbound_dead_letter_queue_url": f"{QUEUES}/cut-short-InboundDead.fifo",
    "rejected_queue_url": f"{QUEUES}/cut-short-Rejected",
    "kafka_release_queue_url": f"{QUEUES}/cut-short-KafkaRelease",
    "kafka_release_dead_letter_queue_url": f"{QUEUES}/cut-short-KafkaDead",
    "kafka_ordered_release_queue_url": f"{QUEUES}/cut-short-KafkaOrdered.fifo",
    "kafka_ordered_release_dead_letter_queue_url": f"{QUEUES}/cut-short-KafkaOrderedDead.fifo",
    "poller_function": "cut-short-Poller",
    "sweeper_function": "cut-short-Sweeper",
    "ingestion_topic": "requests",
}
OWN_QUEUES = [
    *(value.rpartition("/")[2] for name, value in SETTINGS.items() if name.endswith("_queue_url")),
    "Clockwork-Release-1",
    "Clockwork-Release-7",  # left behind by an earlier deployment
    "Clockwork-IngestionInbound1A2B-3C4D.fifo",
    "Clockwork-IngestionInboundDeadLetters1A2B-3C4D.fifo",
    "Clockwork-IngestionRejected1A2B-3C4D",
]
OWN_ARNS = [
    f"arn:aws:lambda:us-east-1:{ACCOUNT}:function:Clockwork-FunctionsSweeper1A2B-3C4D",
    f"arn:aws:lambda:us-east-1:{ACCOUNT}:function:Clockwork-FunctionsSweeper1A2B-3C4D:live",
    f"arn:aws:lambda:us-east-1:{ACCOUNT}:function:cut-short-Poller",
    f"arn:aws:events:us-east-1:{ACCOUNT}:event-bus/Clockwork-Bus1A2B",
    f"arn:aws:sns:us-east-1:{ACCOUNT}:Clockwork-Topic1A2B",
    f"arn:aws:iam::{ACCOUNT}:role/Clockwork-FunctionsDelivererRole1A2B-3C4D",
    f"arn:aws:iam::{ACCOUNT}:role/with/a/path/Clockwork-Role",
    f"arn:aws:lambda:us-east-1:{ACCOUNT}:function:cut-short-Sweeper",
    f"arn:aws:states:us-east-1:{ACCOUNT}:stateMachine:Clockwork-Machine1A2B",
    f"arn:aws:states:us-east-1:{ACCOUNT}:stateMachine:Clockwork-Machine1A2B:live",
    f"arn:aws:kinesis:us-east-1:{ACCOUNT}:stream/Clockwork-Stream1A2B",
    f"arn:aws:ecs:us-east-1:{ACCOUNT}:task-definition/Clockwork-Task1A2B:7",
    f"arn:aws:ecs:us-east-1:{ACCOUNT}:cluster/Clockwork-Cluster1A2B",
]
#: Another account's, another stack's, and patterns that hold more than our own.
OTHERS = [
    "arn:aws:lambda:us-east-1:210987654321:function:Clockwork-FunctionsSweeper1A2B-3C4D",
    f"arn:aws:lambda:us-east-1:{ACCOUNT}:function:Clockwork2-Sweeper",
    f"arn:aws:lambda:us-east-1:{ACCOUNT}:function:clockwork-in",
    f"arn:aws:lambda:us-east-1:{ACCOUNT}:function:*",
    f"arn:aws:lambda:us-east-1:{ACCOUNT}:function:Clock*",
    f"arn:aws:events:us-east-1:{ACCOUNT}:event-bus/default",
    f"arn:aws:iam::{ACCOUNT}:role/Jobs",
]
REFUSAL = "is Clockwork's own, which no job may target"


def put(api: Api, **client: Any) -> Any:
    return api.call("PUT", "/v1/clients/acme", {"principals": [ALICE], **client}, caller=ADMIN)


def sqs(name: str, region: str = "us-east-1", account: str = ACCOUNT) -> str:
    return f"arn:aws:sqs:{region}:{account}:{name}"


@pytest.mark.parametrize("name", OWN_QUEUES)
def test_no_client_lists_a_queue_of_clockwork(name: str) -> None:
    api = Api(**SETTINGS)
    answer = put(api, allowedQueueArns=[sqs("jobs"), sqs(name)])
    assert (answer.status, answer.pointers, answer.details) == (422, ["/allowedQueueArns/1"], [REFUSAL])
    dead = put(api, allowedQueueArns=[sqs(name)], deadLetterQueueArn=sqs(name))
    assert "/deadLetterQueueArn" in dead.pointers
    assert put(api, allowedQueueArns=[sqs(name, account="210987654321")]).status == 200
    assert put(api, allowedQueueArns=[sqs(name, region="eu-west-1")]).status == 422


def test_the_settings_of_every_queue_are_known_here() -> None:
    names = {name for name in Settings.__struct_fields__ if name.endswith("_queue_url")}
    assert names <= set(SETTINGS)


@pytest.mark.parametrize("arn", OWN_ARNS)
def test_no_client_lists_a_resource_or_a_role_of_clockwork(arn: str) -> None:
    api = Api(**SETTINGS)
    for listed in (arn, f"{arn}*"):
        answer = put(api, allowedTargetArns=[*OTHERS, listed])
        assert (answer.pointers, answer.details) == ([f"/allowedTargetArns/{len(OTHERS)}"], [REFUSAL])


def test_what_is_not_clockworks_own_may_be_listed() -> None:
    assert put(Api(**SETTINGS), allowedTargetArns=OTHERS).status == 200
    # A deployment that does not know its names owns nothing.
    assert put(Api(), allowedTargetArns=OWN_ARNS, allowedQueueArns=[sqs(name) for name in OWN_QUEUES]).status == 200


TASK = {
    "type": "ecs",
    "taskDefinitionArn": f"arn:aws:ecs:us-east-1:{ACCOUNT}:task-definition/jobs",
    "clusterArn": f"arn:aws:ecs:us-east-1:{ACCOUNT}:cluster/jobs",
    "container": "app",
}
TARGETS = [
    ({"type": "lambda", "functionArn": OWN_ARNS[0]}, "/functionArn"),
    ({"type": "lambda", "functionArn": OWN_ARNS[1]}, "/functionArn"),
    ({"type": "lambda", "functionArn": OWN_ARNS[2]}, "/functionArn"),
    ({"type": "eventbridge", "busArn": OWN_ARNS[3], "source": "shop", "detailType": "due"}, "/busArn"),
    ({"type": "sns", "topicArn": OWN_ARNS[4]}, "/topicArn"),
    ({"type": "sqs", "queueArn": sqs("jobs"), "roleArn": OWN_ARNS[5]}, "/roleArn"),
    ({"type": "kafka", "topic": "requests"}, "/topic"),
    ({"type": "stepFunctions", "stateMachineArn": OWN_ARNS[8]}, "/stateMachineArn"),
    ({"type": "stepFunctions", "stateMachineArn": OWN_ARNS[9]}, "/stateMachineArn"),
    ({"type": "kinesis", "streamArn": OWN_ARNS[10]}, "/streamArn"),
    ({**TASK, "taskDefinitionArn": OWN_ARNS[11]}, "/taskDefinitionArn"),
    ({**TASK, "clusterArn": OWN_ARNS[12]}, "/clusterArn"),
]


@pytest.mark.parametrize(("target", "field"), TARGETS)
def test_no_job_reaches_what_is_clockworks_own_through_a_wildcard(target: dict[str, Any], field: str) -> None:
    api = Api(**SETTINGS)
    services = ("lambda", "events", "sns", "states", "kinesis", "ecs")
    wide = [*(f"arn:aws:{service}:us-*" for service in services), f"arn:aws:iam::{ACCOUNT}:role/*"]
    assert put(api, allowedTargetArns=wide, allowedQueueArns=[sqs("jobs")], allowedTopics=["*"]).status == 200
    for name in ("target", "onFailure"):
        answer = api.call("POST", "/v1/jobs", job_body(**{name: target}))
        assert (answer.status, answer.pointers, answer.details) == (422, [f"/{name}{field}"], [REFUSAL])


@pytest.mark.parametrize("name", OWN_QUEUES)
def test_no_job_reaches_a_queue_of_clockwork_that_was_listed_before(name: str) -> None:
    api = Api(**SETTINGS)
    listed = Api()
    assert put(listed, allowedQueueArns=[sqs(name)]).status == 200
    stored = listed.clockwork.clients.get("acme")
    assert stored is not None
    api.clockwork.clients.put(stored)
    answer = api.call("POST", "/v1/jobs", job_body(target={"type": "sqs", "queueArn": sqs(name)}))
    assert (answer.pointers, answer.details) == (["/target/queueArn"], [REFUSAL])


def test_no_client_lists_the_topic_of_ingestion_and_the_original_route_does_not_reach_it() -> None:
    api = Api(**SETTINGS)
    assert put(api, allowedTopics=["orders", "requests"]).pointers == ["/allowedTopics/1"]
    assert put(api, allowedTopics=["*"]).status == 200
    body = {"clientId": "acme", "scheduleKey": "k", "orderingKey": "o", "taskData": "x", "scheduleTime": 1}
    answer = api.call("POST", "/schedule", {**body, "delivery": {"topic": "requests"}})
    assert (answer.status, answer.pointers) == (400, ["/delivery/topic"])
    assert api.call("POST", "/schedule", {**body, "delivery": {"topic": "orders"}}).status == 200


@pytest.mark.parametrize("arn", ["", "arn", "arn:aws:sqs:us-east-1", f"arn:aws:sqs:us-east-1:{ACCOUNT}:", "a" * 600])
def test_a_text_that_names_nothing_is_nobodys(arn: str) -> None:
    assert not is_own(arn, Settings(**SETTINGS))
