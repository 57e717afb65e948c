"""A job on the deployed stack, from a signed request to its delivery."""

from __future__ import annotations

import json
from typing import Any

import pytest

from clockwork.domain.instants import from_text
from tests.e2e.conftest import SECRET, FirstJob
from tests.e2e.deployment import Deployment
from tests.e2e.hooks import Hook, is_signed
from tests.e2e.tenant import Tenant
from tests.e2e.waiting import lateness_ms

#: The poller and the deliverer start one after the other, in half a second each or more on a busy machine, within the
#: two seconds before the job is due. Any time beyond that is lateness (20 to 300 ms where this was written).
COLD_MS = 3_000
WARM_MS = 2_000


def test_the_first_job_of_a_fresh_stack_is_on_time_although_nobody_polls_yet(first_job: FirstJob) -> None:
    assert 0 <= lateness_ms(first_job.arrival.at, first_job.created["dueAt"]) < COLD_MS


def test_a_webhook_arrives_on_time_signed_and_with_all_that_identifies_it(acme: Tenant, hook: Hook) -> None:
    created = acme.create(hook, payload={"order": 17, "city": "Zürich"}, tags={"team": "billing"})
    arrival = hook.await_arrivals(1)[0]
    job = acme.await_job(created["jobId"], "SUCCEEDED")
    assert 0 <= lateness_ms(arrival.at, created["dueAt"]) < WARM_MS
    assert is_signed(arrival, SECRET)
    assert json.loads(arrival.body) == {"order": 17, "city": "Zürich"}
    assert arrival.headers["content-type"] == "application/json"
    assert arrival.headers["webhook-id"] == job["lastExecution"]["executionId"]
    assert abs(int(arrival.headers["webhook-timestamp"]) - arrival.at / 1000) < 2
    assert arrival.headers["clockwork-job-id"] == created["jobId"]
    assert arrival.headers["clockwork-attempt"] == "1"
    assert arrival.headers["clockwork-due-at"] == created["dueAt"]
    assert job["tags"] == {"team": "billing"}
    assert [attempt["state"] for attempt in job["lastExecution"]["attempts"]] == ["SUCCEEDED"]


def test_a_text_arrives_as_it_is(acme: Tenant, hook: Hook) -> None:
    acme.create(hook, payload="plain words", schedule={"delaySeconds": 0})
    arrival = hook.await_arrivals(1)[0]
    assert arrival.body == b"plain words"
    assert arrival.headers["content-type"].startswith("text/plain")


@pytest.mark.parametrize("kind", ["standard", "fifo"])
def test_a_message_arrives_in_a_queue_with_its_attributes(deployment: Deployment, acme: Tenant, kind: str) -> None:
    arn: str = getattr(deployment, kind)
    target = {"type": "sqs", "queueArn": arn} | ({"messageGroupId": "orders"} if kind == "fifo" else {})
    created = acme.create(target=target, payload={"kind": kind})
    message = deployment.receive(arn)
    attributes = {name: one["StringValue"] for name, one in message["MessageAttributes"].items()}
    execution = acme.await_job(created["jobId"], "SUCCEEDED")["lastExecution"]
    assert json.loads(message["Body"]) == {"kind": kind}
    assert attributes == {
        "executionId": execution["executionId"],
        "jobId": created["jobId"],
        "attempt": "1",
        "dueAt": created["dueAt"],
    }
    assert 0 <= lateness_ms(int(message["Attributes"]["SentTimestamp"]), created["dueAt"]) < WARM_MS
    assert message["Attributes"].get("MessageGroupId") == target.get("messageGroupId")


def test_a_job_that_is_not_recorded_is_delivered_and_leaves_no_execution(
    deployment: Deployment, acme: Tenant, hook: Hook
) -> None:
    created = acme.create(hook, record="none", schedule={"delaySeconds": 1})
    hook.await_arrivals(1)
    deployment.await_empty()
    assert len(hook.arrivals) == 1
    assert acme.get(f"/v1/jobs/{created['jobId']}")["state"] == "RELEASED"
    assert acme.get(f"/v1/jobs/{created['jobId']}/executions")["items"] == []


def test_a_bad_job_of_a_batch_is_named_and_the_others_are_delivered(acme: Tenant, hook: Hook) -> None:
    def job(number: int, **changes: Any) -> dict[str, Any]:
        target = {"type": "http", "url": hook.url}
        return {"schedule": {"delaySeconds": 2}, "target": target, "payload": number, **changes}

    jobs = [job(0), job(1, schedule={"delaySeconds": -1}, record="some"), job(2)]
    answer = acme.api.request("POST", "/v1/jobs/batch", {"clientId": "acme", "jobs": jobs})
    results = answer.body["results"]
    assert answer.status == 200
    assert [(result["index"], result["status"]) for result in results] == [(0, 201), (1, 422), (2, 201)]
    faults = {fault["pointer"] for fault in results[1]["problem"]["errors"]}
    assert faults == {"/jobs/1/schedule/delaySeconds", "/jobs/1/record"}
    arrivals = hook.await_arrivals(2)
    assert sorted(arrival.body for arrival in arrivals) == [b"0", b"2"]
    assert {a.headers["clockwork-job-id"] for a in arrivals} == {results[0]["jobId"], results[2]["jobId"]}


def test_a_create_repeated_under_its_idempotency_key_is_one_job_and_one_delivery(
    deployment: Deployment, acme: Tenant, hook: Hook
) -> None:
    first = acme.create(hook, key="order-17")
    acme.await_job(first["jobId"], "SUCCEEDED")
    # By now the repeat finds its row behind the horizon and releases it again; the record absorbs that release.
    again = acme.create(hook, key="order-17")
    other = {"clientId": "acme", "schedule": {"delaySeconds": 3}, "target": {"type": "http", "url": hook.url}}
    refused = acme.api.request("POST", "/v1/jobs", other, {"Idempotency-Key": "order-17"})
    deployment.await_empty()
    assert (again["jobId"], again["dueAt"], again["state"]) == (first["jobId"], first["dueAt"], "RELEASED")
    assert refused.status == 409
    assert len(hook.arrivals) == 1
    assert hook.arrivals[0].at >= from_text(first["dueAt"])
