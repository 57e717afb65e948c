"""Dead executions on the deployed stack: the client lists them, redrives them, or discards them."""

from __future__ import annotations

from typing import Any

from tests.e2e.deployment import Deployment
from tests.e2e.hooks import Hooks
from tests.e2e.tenant import Tenant
from tests.e2e.waiting import await_value

ONCE = {"maxAttempts": 1}


def listed(acme: Tenant, job_id: str) -> dict[str, Any] | None:
    """The job's execution in the list of dead ones, or None; the index may lag for moments."""
    items = acme.get(f"/v1/clients/{acme.client_id}/dead")["items"]
    return next((item for item in items if item["jobId"] == job_id), None)


def test_a_dead_execution_is_found_redriven_under_its_id_and_leaves_the_list(acme: Tenant, webhooks: Hooks) -> None:
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


def test_what_is_put_away_stays_dead_and_leaves_the_list(acme: Tenant, webhooks: Hooks) -> None:
    job_id = acme.create(webhooks.hook(failures=100), retryPolicy=ONCE, schedule={"delaySeconds": 0})["jobId"]
    acme.await_job(job_id, "DEAD")
    dead = await_value(lambda: listed(acme, job_id), "the dead execution is listed")
    due = {"from": dead["dueAt"], "to": dead["dueAt"]}
    answer = acme.api.request("POST", f"/v1/clients/{acme.client_id}/dead/discard", due)
    assert (answer.status, answer.body["changed"]) == (200, 1)
    await_value(lambda: True if listed(acme, job_id) is None else None, "it has left the list")
    assert acme.get(f"/v1/executions/{dead['executionId']}")["state"] == "DEAD"


def test_the_dead_of_an_outage_are_redriven_page_by_page_with_progress(deployment: Deployment, webhooks: Hooks) -> None:
    # A client of its own, without circuits that failures in other tests have opened.
    outage = deployment.tenant("outage", allowedPrivateTargets=[webhooks.place])
    hook = webhooks.hook(failures=1)
    target = {"type": "http", "url": hook.url}
    keys = [f"outage-{number}" for number in range(5)]
    ids = [
        outage.create(jobKey=key, target=target, retryPolicy=ONCE, schedule={"delaySeconds": 0})["jobId"]
        for key in keys
    ]
    outage.create(jobKey="other-outage", target=target, retryPolicy=ONCE, schedule={"delaySeconds": 0})
    hook.await_arrivals(6)
    await_value(lambda: True if all(listed(outage, job_id) for job_id in ids) else None, "all are listed")
    wanted: dict[str, Any] = {"prefix": "outage-", "limit": 2}
    matched, changed, calls = 0, 0, 0
    while True:
        answer = outage.api.request("POST", f"/v1/clients/{outage.client_id}/dead/redrive", wanted)
        assert answer.status == 200, answer
        matched, changed, calls = matched + answer.body["matched"], changed + answer.body["changed"], calls + 1
        if "nextToken" not in answer.body:
            break
        wanted["nextToken"] = answer.body["nextToken"]
    assert (matched, changed) == (5, 5)
    assert calls >= 3
    executions = [outage.get(f"/v1/jobs/{job_id}/executions")["items"][0]["executionId"] for job_id in ids]

    def delivered() -> bool | None:
        states = {outage.get(f"/v1/executions/{execution_id}")["state"] for execution_id in executions}
        return True if states == {"SUCCEEDED"} else None

    await_value(delivered, "all were delivered after all")
    assert len(hook.arrivals) == 6 + 5
