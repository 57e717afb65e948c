"""onFailure on the deployed stack: each DEAD job is called back once, with its facts, signed like any webhook."""

from __future__ import annotations

import json

import pytest

from tests.e2e.conftest import SECRET
from tests.e2e.deployment import Deployment
from tests.e2e.hooks import Hooks, is_signed
from tests.e2e.tenant import Tenant

ONCE = {"maxAttempts": 1}


@pytest.mark.parametrize("record", ["full", "none"])
def test_a_dead_execution_is_called_back_once_with_what_became_of_it(
    acme: Tenant, webhooks: Hooks, record: str
) -> None:
    failing, told = webhooks.hook(failures=1_000), webhooks.hook()
    back = {"type": "http", "url": told.url, "headers": {"x-why": "dead"}}
    twice = {"maxAttempts": 2, "initialSeconds": 1, "jitter": "none"}
    job_id = acme.create(failing, onFailure=back, retryPolicy=twice, record=record, tags={"team": "billing"})["jobId"]
    (arrival,) = told.await_arrivals(1)
    job = acme.await_job(job_id, "DEAD")
    dead = job["lastExecution"]
    assert json.loads(arrival.body) == {
        "executionId": dead["executionId"],
        "jobId": job_id,
        "jobKey": None,
        "clientId": "acme",
        "dueAt": job["dueAt"],
        "state": "DEAD",
        "reason": dead["reason"],
        "attempts": 2,
        "lastError": dead["attempts"][-1]["error"],
        "lastStatusCode": 503,
        "tags": {"team": "billing"},
    }
    assert (is_signed(arrival, SECRET), arrival.headers["x-why"]) == (True, "dead")
    # The callback is a job like any other; it has ended, and nothing more comes of it.
    assert acme.await_job(arrival.headers["clockwork-job-id"], "SUCCEEDED")["record"] == "full"
    assert (len(failing.arrivals), len(told.arrivals)) == (2, 1)


def test_a_callback_that_fails_has_none_of_its_own(acme: Tenant, webhooks: Hooks) -> None:
    failing, deaf = webhooks.hook(failures=1_000), webhooks.hook(failures=1_000)
    back = {"type": "http", "url": deaf.url}
    acme.create(failing, onFailure=back, retryPolicy=ONCE)
    (arrival, *_) = deaf.await_arrivals(1)
    job = acme.get(f"/v1/jobs/{arrival.headers['clockwork-job-id']}")
    assert "onFailure" not in job
    # The retry policy of the client, not of the dead job.
    assert job["retryPolicy"]["maxAttempts"] == 5
    assert acme.cancel(job["jobId"])["result"] in ("cancelled", "running")


def test_a_named_jobs_death_is_told_to_a_queue(deployment: Deployment, acme: Tenant, webhooks: Hooks) -> None:
    target = {"type": "http", "url": webhooks.hook(failures=1_000).url}
    back = {"type": "sqs", "queueArn": deployment.standard}
    created = acme.create(jobKey="told-to-a-queue", target=target, onFailure=back, retryPolicy=ONCE)
    message = deployment.receive(deployment.standard)
    facts = json.loads(message["Body"])
    assert (facts["jobId"], facts["jobKey"], facts["attempts"]) == (created["jobId"], "told-to-a-queue", 1)
    assert message["MessageAttributes"]["executionId"]["StringValue"] != facts["executionId"]
