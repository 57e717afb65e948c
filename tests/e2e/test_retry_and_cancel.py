"""Targets that fail, and clients that cancel, on the deployed stack."""

from __future__ import annotations

from itertools import pairwise

from clockwork.domain.instants import from_text
from tests.e2e.deployment import Deployment
from tests.e2e.hooks import Hook, Hooks
from tests.e2e.tenant import Tenant

EVERY_SECOND = {"backoff": "fixed", "initialSeconds": 1, "jitter": "none"}
#: Too late for a create to wake a poller, yet within a poller's lookahead: only a poller's regular visit releases it.
UNREAD_SECONDS = 65


def test_a_target_that_fails_twice_gets_the_third_attempt_a_second_apart(acme: Tenant, webhooks: Hooks) -> None:
    hook = webhooks.hook(failures=2)
    created = acme.create(hook, retryPolicy=EVERY_SECOND, schedule={"delaySeconds": 0})
    execution = acme.await_job(created["jobId"], "SUCCEEDED")["lastExecution"]
    attempts = execution["attempts"]
    assert [a["state"] for a in attempts] == ["FAILED", "FAILED", "SUCCEEDED"]
    assert [a.get("statusCode") for a in attempts] == [503, 503, 200]
    assert attempts[0]["responseExcerpt"] == "not now"
    assert [a.headers["clockwork-attempt"] for a in hook.arrivals] == ["1", "2", "3"]
    assert {a.headers["webhook-id"] for a in hook.arrivals} == {execution["executionId"]}
    for earlier, later in pairwise(attempts):
        assert from_text(later["startedAt"]) >= from_text(earlier["endedAt"]) + 1_000


def test_a_target_that_never_succeeds_leaves_a_dead_execution_with_the_reason_of_each_attempt(
    deployment: Deployment, acme: Tenant, webhooks: Hooks
) -> None:
    hook = webhooks.hook(failures=100)
    created = acme.create(hook, retryPolicy={**EVERY_SECOND, "maxAttempts": 2}, schedule={"delaySeconds": 0})
    execution = acme.await_job(created["jobId"], "DEAD")["lastExecution"]
    deployment.await_empty()
    assert "attempt 2 of 2 failed" in execution["reason"]
    assert [(a["number"], a["state"]) for a in execution["attempts"]] == [(1, "FAILED"), (2, "FAILED")]
    assert all("503" in a["error"] for a in execution["attempts"])
    assert len(hook.arrivals) == 2


def test_a_job_cancelled_before_its_release_is_never_released(deployment: Deployment, acme: Tenant, hook: Hook) -> None:
    with deployment.without_ticks():
        deployment.miss_ticks()
        created = acme.create(hook, schedule={"delaySeconds": UNREAD_SECONDS})
        assert created["state"] == "SCHEDULED"
        answer = acme.cancel(created["jobId"])
        reports = deployment.poll_all()
    assert (answer["result"], answer["executions"]) == ("cancelled", [])
    assert [(report["outcome"], report["released"]) for report in reports] == [("dry", 0)] * len(reports)
    assert acme.get(f"/v1/jobs/{created['jobId']}")["state"] == "CANCELLED"
    deployment.await_empty()
    assert hook.arrivals == []


def test_a_job_cancelled_after_its_release_is_not_delivered_for_its_record_says_so(
    deployment: Deployment, acme: Tenant, hook: Hook
) -> None:
    created = acme.create(hook, schedule={"delaySeconds": 4})
    acme.await_job(created["jobId"], "RELEASED")
    assert acme.cancel(created["jobId"])["result"] == "cancelled"
    assert acme.cancel(created["jobId"])["result"] == "cancelled"
    deployment.await_empty()
    executions = acme.get(f"/v1/jobs/{created['jobId']}/executions")["items"]
    assert [(e["state"], e["attempts"]) for e in executions] == [("CANCELLED", [])]
    assert hook.arrivals == []


def test_without_a_record_a_cancel_after_the_release_admits_that_it_is_too_late(acme: Tenant, hook: Hook) -> None:
    created = acme.create(hook, record="none", schedule={"delaySeconds": 3})
    acme.await_job(created["jobId"], "RELEASED")
    assert acme.cancel(created["jobId"])["result"] == "too_late"
    hook.await_arrivals(1)


def test_a_job_that_was_delivered_can_not_be_cancelled(acme: Tenant, hook: Hook) -> None:
    created = acme.create(hook, schedule={"delaySeconds": 0})
    acme.await_job(created["jobId"], "SUCCEEDED")
    answer = acme.cancel(created["jobId"])
    assert answer["result"] == "too_late"
    assert [execution["state"] for execution in answer["executions"]] == ["SUCCEEDED"]
