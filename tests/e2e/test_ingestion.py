"""Jobs by message on the deployed stack: a message to the inbound queue creates or cancels a job, or is rejected."""

from __future__ import annotations

import json
import uuid
from typing import Any

import pytest

from tests.e2e.deployment import Deployment
from tests.e2e.hooks import Hook, Hooks
from tests.e2e.tenant import Tenant
from tests.e2e.waiting import await_value


@pytest.fixture(scope="module")
def sender(deployment: Deployment, webhooks: Hooks) -> Tenant:
    """A client that no other test uses; its jobs come by message."""
    return deployment.tenant("sender", allowedPrivateTargets=[webhooks.place])


def send(deployment: Deployment, *messages: Any, group: str = "orders") -> None:
    """Sends messages of one group, in order."""
    sqs = deployment.stack.client("sqs")
    for message in messages:
        body = message if isinstance(message, str) else json.dumps(message)
        sqs.send_message(
            QueueUrl=deployment.stack.outputs["InboundQueueUrl"],
            MessageBody=body,
            MessageGroupId=group,
            MessageDeduplicationId=uuid.uuid4().hex,
        )


def create(hook: Hook, **job: Any) -> dict[str, Any]:
    target = {"type": "http", "url": hook.url}
    return {"op": "create", "clientId": "sender", "job": {"schedule": {"delaySeconds": 0}, "target": target, **job}}


def test_a_message_becomes_a_job_that_is_delivered_and_a_key_makes_two_messages_one(
    deployment: Deployment, sender: Tenant, hook: Hook
) -> None:
    keyed = {**create(hook, payload="keyed"), "idempotencyKey": "order-17"}
    send(deployment, create(hook, payload="plain"), keyed, keyed)
    arrivals = hook.await_arrivals(2)
    deployment.await_empty("InboundQueueUrl")
    deployment.await_empty()
    assert sorted(arrival.body for arrival in hook.arrivals) == [b"keyed", b"plain"]
    assert {arrival.headers["clockwork-attempt"] for arrival in arrivals} == {"1"}


def test_a_cancel_behind_its_create_finds_the_job(deployment: Deployment, sender: Tenant, hook: Hook) -> None:
    nightly = create(hook, jobKey="nightly", schedule={"every": {"seconds": 3_600}})
    send(deployment, nightly, {"op": "cancel", "clientId": "sender", "jobKey": "nightly"})
    deployment.await_empty("InboundQueueUrl")
    assert sender.get("/v1/jobs")["items"] == []
    assert [job["jobKey"] for job in sender.get("/v1/jobs?state=CANCELLED")["items"]] == ["nightly"]


def test_what_cannot_be_is_rejected_with_its_reason_and_blocks_nobody(
    deployment: Deployment, sender: Tenant, hook: Hook
) -> None:
    send(deployment, {**create(hook), "clientId": "nobody"}, create(hook, payload="behind"))
    assert hook.await_arrivals(1)[0].body == b"behind"
    sqs, url = deployment.stack.client("sqs"), deployment.stack.outputs["RejectedQueueUrl"]
    (message,) = await_value(lambda: sqs.receive_message(QueueUrl=url).get("Messages"), "a rejected message")
    rejected = json.loads(message["Body"])
    assert (rejected["reason"], rejected["lane"]) == ("/clientId is no client's", "orders")
    assert json.loads(rejected["message"])["clientId"] == "nobody"
