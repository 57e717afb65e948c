"""Quotas of creates on the deployed stack: a create beyond them is refused with Retry-After, and writes nothing."""

from __future__ import annotations

from local.api import Answer
from tests.e2e.deployment import Deployment
from tests.e2e.hooks import Hooks
from tests.e2e.tenant import Tenant
from tests.e2e.waiting import await_value


def _created_until_refused(tenant: Tenant, job: dict[str, object], most: int) -> tuple[list[str], Answer]:
    """Creates jobs until one is refused; returns the accepted jobIds and that refusal."""
    accepted: list[str] = []
    while len(accepted) < most:
        answer = tenant.api.request("POST", "/v1/jobs", {"clientId": tenant.client_id, **job})
        if answer.status != 201:
            return accepted, answer
        accepted.append(answer.body["jobId"])
    raise AssertionError(f"{most} jobs were accepted")


def _is_refused_for_now(answer: Answer, longest_seconds: int) -> None:
    assert answer.status == 429, answer
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.body["status"] == 429
    assert 1 <= int(answer.headers["retry-after"]) <= longest_seconds


def test_creates_beyond_a_clients_rate_are_refused_until_what_retry_after_says(
    deployment: Deployment, webhooks: Hooks
) -> None:
    tenant = deployment.tenant("hasty", createsPerSecond=1, allowedPrivateTargets=[webhooks.place])
    hook = webhooks.hook()
    job = {"schedule": {"delaySeconds": 3}, "target": {"type": "http", "url": hook.url}}
    accepted, refused = _created_until_refused(tenant, job, 100)
    _is_refused_for_now(refused, 60)

    def again() -> str | None:
        answer = tenant.api.request("POST", "/v1/jobs", {"clientId": tenant.client_id, **job})
        return str(answer.body["jobId"]) if answer.status == 201 else None

    accepted.append(await_value(again, "another job is accepted", every_seconds=0.5))
    arrived = {arrival.headers["clockwork-job-id"] for arrival in hook.await_arrivals(len(accepted))}
    assert arrived == set(accepted)


def test_jobs_beyond_a_clients_day_are_refused_until_the_day_is_over(deployment: Deployment, webhooks: Hooks) -> None:
    tenant = deployment.tenant("daily", jobsPerDay=3, allowedPrivateTargets=[webhooks.place])
    hook = webhooks.hook()
    job = {"schedule": {"delaySeconds": 2}, "target": {"type": "http", "url": hook.url}}
    batch = tenant.api.request("POST", "/v1/jobs/batch", {"clientId": tenant.client_id, "jobs": [job] * 4})
    _is_refused_for_now(batch, 86_400)
    accepted, refused = _created_until_refused(tenant, job, 10)
    _is_refused_for_now(refused, 86_400)
    arrived = {arrival.headers["clockwork-job-id"] for arrival in hook.await_arrivals(3)}
    assert (len(accepted), arrived) == (3, set(accepted))
