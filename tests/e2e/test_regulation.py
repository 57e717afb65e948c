"""Regulation of clients on the deployed stack: caps, a pause, a target that is down, and two clients side by side."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.e2e.deployment import Deployment
from tests.e2e.hooks import Hook, Hooks
from tests.e2e.tenant import Tenant
from tests.e2e.waiting import PATIENCE_SECONDS, await_value

DUE = {"delaySeconds": 2}
#: Time for a recovered target: its circuit closes, the deliverers forget its state, and the ramp goes up.
RECOVERY_SECONDS = 40


def create_many(tenant: Tenant, hook: Hook, count: int, **job: Any) -> list[str]:
    """Creates a batch of jobs that are due together; returns their ids."""
    target = {"type": "http", "url": hook.url}
    jobs = [{"schedule": DUE, "target": target, "payload": [tenant.client_id, n], **job} for n in range(count)]
    answer = tenant.api.request("POST", "/v1/jobs/batch", {"clientId": tenant.client_id, "jobs": jobs})
    assert answer.status == 200, answer
    assert {result["status"] for result in answer.body["results"]} == {201}
    return [result["jobId"] for result in answer.body["results"]]


def states(tenant: Tenant, job_ids: list[str]) -> set[str]:
    """The states of the jobs' executions; NONE for a job without one."""
    found = [tenant.get(f"/v1/jobs/{job_id}/executions")["items"] for job_id in job_ids]
    return {items[0]["state"] if items else "NONE" for items in found}


def await_states(tenant: Tenant, job_ids: list[str], wanted: str) -> None:
    """Wait until the executions of all jobs are in a state."""
    await_value(lambda: True if states(tenant, job_ids) == {wanted} else None, f"all are {wanted}")


def order(deployment: Deployment, tenant: Tenant, path: str, body: dict[str, Any] | None = None) -> None:
    """Sends a POST about the client as an admin."""
    answer = deployment.stack.api().request("POST", f"/v1/clients/{tenant.client_id}/{path}", body or {})
    assert answer.status in (200, 202), answer


def sweep_until(
    deployment: Deployment, is_done: Callable[[], bool], what: str, seconds: float = RECOVERY_SECONDS
) -> None:
    """Invokes the sweeper until it is done, without waiting for the sweep of each minute."""

    def swept() -> bool | None:
        if is_done():
            return True
        deployment.invoke("sweeper", {})
        return None

    await_value(swept, what, seconds)


def sweep_until_arrived(deployment: Deployment, hook: Hook, count: int) -> None:
    """Sweeps until `count` executions have reached the hook."""
    sweep_until(deployment, lambda: len({a.headers["webhook-id"] for a in hook.arrivals}) >= count, f"{count} came")


@pytest.fixture
def private(webhooks: Hooks) -> dict[str, Any]:
    """The setting that lets a client reach the receiver."""
    return {"allowedPrivateTargets": [webhooks.place]}


def test_a_rate_cap_is_kept(deployment: Deployment, hook: Hook, private: dict[str, Any]) -> None:
    tenant = deployment.tenant("paced", maxRatePerSecond=10, **private)
    create_many(tenant, hook, 40)
    came = sorted(arrival.at for arrival in hook.await_arrivals(40))
    # Up to a second's worth of the cap may run early in its second.
    assert 3.9 - 1 <= (came[-1] - came[0]) / 1000 <= 3.9 / 0.8


def test_a_concurrency_cap_is_kept_and_all_get_their_turn(
    deployment: Deployment, webhooks: Hooks, private: dict[str, Any]
) -> None:
    hook = webhooks.hook(seconds=0.2)
    tenant = deployment.tenant("narrow", maxConcurrency=3, **private)
    create_many(tenant, hook, 15)
    hook.await_arrivals(15)
    assert hook.most_at_once == 3


def test_a_paused_clients_jobs_are_parked_and_delivered_once_it_is_resumed(
    deployment: Deployment, hook: Hook, private: dict[str, Any]
) -> None:
    tenant = deployment.tenant("paused", **private)
    order(deployment, tenant, "pause", {"reason": "an incident"})
    job_ids = create_many(tenant, hook, 3)
    await_states(tenant, job_ids, "PARKED")
    execution = tenant.get(f"/v1/jobs/{job_ids[0]}/executions")["items"][0]
    assert (execution["attempts"], "an incident" in execution["reason"]) == ([], True)
    assert hook.arrivals == []
    order(deployment, tenant, "resume")
    sweep_until_arrived(deployment, hook, 3)
    await_states(tenant, job_ids, "SUCCEEDED")
    assert len(hook.arrivals) == 3


def test_what_was_parked_is_discarded_by_hand_and_never_delivered(
    deployment: Deployment, hook: Hook, private: dict[str, Any]
) -> None:
    tenant = deployment.tenant("unwanted", **private)
    order(deployment, tenant, "pause")
    job_ids = create_many(tenant, hook, 3)
    await_states(tenant, job_ids, "PARKED")
    order(deployment, tenant, "parked/discard")
    deployment.invoke("sweeper", {})
    await_states(tenant, job_ids, "CANCELLED")
    order(deployment, tenant, "resume")
    deployment.invoke("sweeper", {})
    # Skipped is final: the record absorbs any message that may still be there.
    await_states(tenant, job_ids, "CANCELLED")
    assert hook.arrivals == []


@pytest.mark.nightly
def test_a_target_that_is_down_is_left_alone_probed_and_gets_its_backlog_when_it_is_back(
    deployment: Deployment, webhooks: Hooks, private: dict[str, Any]
) -> None:
    hook = webhooks.hook(failures=1_000)
    tenant = deployment.tenant("unlucky", **private)
    retries = {"maxAttempts": 20, "backoff": "fixed", "initialSeconds": 2, "jitter": "none"}
    job_ids = create_many(tenant, hook, 40, retryPolicy=retries)
    await_value(lambda: True if "PARKED" in states(tenant, job_ids) else None, "something is parked")
    later = create_many(tenant, hook, 4, retryPolicy=retries)
    await_states(tenant, later, "PARKED")
    asked = len(hook.arrivals)
    hook.failures = 0
    # Each has already come once and failed, so their arrival alone proves nothing: wait for their success.
    everything, seconds = [*job_ids, *later], RECOVERY_SECONDS + PATIENCE_SECONDS
    sweep_until(deployment, lambda: states(tenant, everything) == {"SUCCEEDED"}, "all are SUCCEEDED", seconds)
    assert asked < 3 * 40


def test_a_client_that_floods_crosses_nothing_with_another_and_keeps_it_from_nothing(
    deployment: Deployment, webhooks: Hooks, private: dict[str, Any]
) -> None:
    loud, quiet = (deployment.tenant(name, **private) for name in ("loud", "quiet"))
    loud_hook, quiet_hook = webhooks.hook(), webhooks.hook()
    create_many(loud, loud_hook, 300)
    job_ids = create_many(quiet, quiet_hook, 5)
    quiet_hook.await_arrivals(5)
    loud_hook.await_arrivals(300)
    for tenant, hook, count in ((loud, loud_hook, 300), (quiet, quiet_hook, 5)):
        bodies = [json.loads(arrival.body) for arrival in hook.arrivals]
        assert sorted(bodies) == [[tenant.client_id, number] for number in range(count)]
    assert {loud.api.request("GET", f"/v1/jobs/{job_id}").status for job_id in job_ids} == {404}
