"""Targets without an envelope, over the API: what goes with that, and what is refused with its fix."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tests.handlers.handlers import Api
from tests.support.examples import ACME

ALICE = "arn:aws:iam::123456789012:user/alice"
ARN = "arn:aws:{}:us-east-1:123456789012:{}"
QUEUE = ARN.format("sqs", "orders")
BUS = {"type": "eventbridge", "busArn": ARN.format("events", "event-bus/orders"), "source": "a", "detailType": "b"}
FUNCTION = {"type": "lambda", "functionArn": ARN.format("lambda", "function:orders")}
STREAM = {"type": "kinesis", "streamArn": ARN.format("kinesis", "stream/orders")}
MACHINE = {"type": "stepFunctions", "stateMachineArn": ARN.format("states", "stateMachine:orders")}
TASK = {
    "type": "ecs",
    "taskDefinitionArn": ARN.format("ecs", "task-definition/report"),
    "clusterArn": ARN.format("ecs", "cluster/jobs"),
    "container": "app",
}
ENVELOPED = (BUS, FUNCTION, STREAM, MACHINE)
OTHERS = ({"type": "sqs", "queueArn": QUEUE}, {"type": "sns", "topicArn": ARN.format("sns", "orders")}, TASK)


@pytest.fixture
def api() -> Api:
    api = Api()
    services = ("events", "lambda", "kinesis", "states", "sns", "ecs")
    allowed = tuple(f"arn:aws:{service}:us-east-1:*" for service in services)
    acme = msgspec.structs.replace(ACME, principals=(ALICE,), allowed_target_arns=allowed, allowed_queue_arns=(QUEUE,))
    api.clockwork.clients.put(acme)
    return api


def job(target: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"clientId": "acme", "schedule": {"delaySeconds": 60}, "target": target, "payload": {"a": 1}, **fields}


def faults(api: Api, body: dict[str, Any]) -> dict[str, str]:
    refused = api.call("POST", "/v1/jobs", body, caller=ALICE)
    assert refused.status == 422, refused.text
    return {one["pointer"]: one["detail"] for one in refused.body["errors"]}


@pytest.mark.parametrize("target", [*ENVELOPED, *OTHERS], ids=lambda one: str(one["type"]))
def test_every_service_of_aws_takes_the_payload_alone(api: Api, target: dict[str, Any]) -> None:
    sent = target | {"envelope": False}
    created = api.call("POST", "/v1/jobs", job(sent), caller=ALICE)
    assert created.status == 201, created.text
    assert api.call("GET", f"/v1/jobs/{created.body['jobId']}", caller=ALICE).body["target"] == sent


@pytest.mark.parametrize("target", ENVELOPED, ids=lambda one: str(one["type"]))
def test_a_receiver_that_would_never_get_its_token_is_refused(api: Api, target: dict[str, Any]) -> None:
    callback = {"mode": "callback"}
    found = faults(api, job(target | {"envelope": False}, completion=callback))
    assert found == {
        "/completion": "cannot have the mode callback without an envelope, which has the token: leave envelope out"
    }
    for envelope in ({}, {"envelope": True}):
        assert api.call("POST", "/v1/jobs", job(target | envelope, completion=callback), caller=ALICE).status == 201


@pytest.mark.parametrize("target", OTHERS, ids=lambda one: str(one["type"]))
def test_a_token_beside_the_payload_is_no_reason_to_refuse_and_an_envelope_is(api: Api, target: dict[str, Any]) -> None:
    bare = job(target | {"envelope": False}, completion={"mode": "callback"})
    assert api.call("POST", "/v1/jobs", bare, caller=ALICE).status == 201
    found = faults(api, job(target | {"envelope": True}))
    assert "the payload is always alone there" in found["/target/envelope"]
    assert "Leave it out" in found["/target/envelope"]


@pytest.mark.parametrize("more", [{"payload": "text"}, {"payload": [1]}, {"payload": None}, {"payload": 7}])
def test_an_event_needs_an_object_and_the_fault_says_how(api: Api, more: dict[str, Any]) -> None:
    found = faults(api, job(BUS | {"envelope": False}, **more))
    assert found == {
        "/payload": "must be an object, as events have no other detail: put it into one, or leave envelope out"
    }
    assert api.call("POST", "/v1/jobs", job(BUS, **more), caller=ALICE).status == 201


def test_a_job_without_a_payload_has_none_for_a_bare_event(api: Api) -> None:
    body = job(BUS | {"envelope": False})
    del body["payload"]
    assert "must be an object" in faults(api, body)["/payload"]


def test_the_end_of_a_bare_state_machine_may_be_waited_for(api: Api) -> None:
    body = job(MACHINE | {"envelope": False}, completion={"mode": "end"})
    assert api.call("POST", "/v1/jobs", body, caller=ALICE).status == 201


def test_a_node_is_held_to_the_same(api: Api) -> None:
    node = {"target": FUNCTION | {"envelope": False}, "completion": {"mode": "callback"}}
    found = faults(api, {**job({"type": "workflow", "nodes": {"a": node}}), "record": "full"})
    assert "leave envelope out" in found["/target/nodes/a/completion"]


def test_a_type_without_the_field_says_so(api: Api) -> None:
    assert "/target/envelope" in faults(api, job({"type": "http", "url": "https://example.com", "envelope": False}))
