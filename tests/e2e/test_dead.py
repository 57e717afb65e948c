"""What is dead on the deployed stack: its client finds it, delivers it after all, or puts it away."""

from __future__ import annotations

from typing import Any

from tests.e2e.receiver import Receiver
from tests.e2e.tenant import Tenant
from tests.e2e.waiting import await_value

ONCE = {"maxAttempts": 1}


def listed(acme: Tenant, job_id: str) -> dict[str, Any] | None:
    """The job's execution among the dead; the index may lag for moments."""
    items = acme.get(f"/v1/clients/{acme.client_id}/dead")["items"]
    return next((item for item in items if item["jobId"] == job_id), None)


def test_a_dead_execution_is_found_redriven_under_its_id_and_leaves_the_list(acme: Tenant, webhooks: Receiver) -> None:
    hook = webhooks.hook(failures=1)
    job_id = acme.create(hook, retryPolicy=ONCE, schedule={"delaySeconds": 0})["jobId"]
    acme.await_job(job_id, "DEAD")
    dead = await_value(lambda: listed(acme, job_id), "the dead execution is listed")
    answer = acme.api.request("POST", f"/v1/executions/{dead['executionId']}/redrive")
    assert (answer.status, answer.body["state"]) == (200, "PENDING")
    execution = acme.await_job(job_id, "SUCCEEDED")["lastExecution"]
    assert [one["state"] for one in execution["attempts"]] == ["FAILED", "SUCCEEDED"]
    assert {arrival.headers["webhook-id"] for arrival in hook.arrivals} == {dead["executionId"]}
    await_value(lambda: True if listed(acme, job_id) is None else None, "it has left the list")


def test_what_is_put_away_stays_dead_and_leaves_the_list(acme: Tenant, webhooks: Receiver) -> None:
    job_id = acme.create(webhooks.hook(failures=100), retryPolicy=ONCE, schedule={"delaySeconds": 0})["jobId"]
    acme.await_job(job_id, "DEAD")
    dead = await_value(lambda: listed(acme, job_id), "the dead execution is listed")
    due = {"from": dead["dueAt"], "to": dead["dueAt"]}
    answer = acme.api.request("POST", f"/v1/clients/{acme.client_id}/dead/discard", due)
    assert (answer.status, answer.body["changed"]) == (200, 1)
    await_value(lambda: True if listed(acme, job_id) is None else None, "it has left the list")
    assert acme.get(f"/v1/executions/{dead['executionId']}")["state"] == "DEAD"
