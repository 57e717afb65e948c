"""Which callers the deployed API admits, and how little they learn of other clients."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
import urllib3

from infra import ROOT
from local.api import Answer
from local.emulator import ACCOUNT
from tests.e2e.deployment import Deployment
from tests.e2e.tenant import Tenant
from tests.unit.test_docs import fenced

TARGET = {"type": "http", "url": "https://example.com"}
JOB = {"clientId": "acme", "schedule": {"delaySeconds": 3_600}, "target": TARGET}


def problem_of(answer: Answer) -> str:
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.body["status"] == answer.status
    return str(answer.body["detail"])


def test_a_request_without_a_signature_is_refused_before_it_reaches_us(deployment: Deployment, acme: Tenant) -> None:
    stack = deployment.stack
    path = f"/_aws/execute-api/{stack.outputs['ApiId']}/$default/v1/jobs"
    with urllib3.PoolManager(ca_certs=str(stack.ca_bundle), retries=False) as pool:
        assert pool.request("POST", stack.endpoint_url + path, json=JOB).status == 403


def test_a_request_signed_with_another_secret_is_refused(deployment: Deployment, acme: Tenant) -> None:
    forger = replace(deployment.caller("forger"), secret_key="wrong")
    assert deployment.stack.api(forger).request("POST", "/v1/jobs", JOB).status == 403


def test_a_user_whom_iam_does_not_let_call_the_api_is_refused(deployment: Deployment, acme: Tenant) -> None:
    foreign = deployment.stack.create_user("foreign")
    assert deployment.stack.api(foreign).request("POST", "/v1/jobs", JOB).status == 403


def test_the_policy_of_the_page_lets_a_service_create_and_cancel_and_nothing_else(deployment: Deployment) -> None:
    stack = deployment.stack
    page, *_ = fenced(ROOT / "docs/howto/callers.md", "json")
    policy = page.replace("abcdef1234", stack.outputs["ApiId"]).replace("123456789012", ACCOUNT)
    (statement,) = json.loads(policy)["Statement"]
    service = stack.create_user("by-the-page", statement)
    assert stack.api().request("PUT", "/v1/clients/by-the-page", {"principals": [service.arn]}).status == 200
    api, job = stack.api(service), {"schedule": {"delaySeconds": 3_600}, "target": TARGET}
    created = api.request("POST", "/v1/jobs", job)
    assert created.status == 201
    assert api.request("POST", "/v1/jobs/batch", {"jobs": [job]}).status == 200
    path = f"/v1/jobs/{created.body['jobId']}"
    for method, other in (("GET", path), ("GET", "/v1/jobs"), ("POST", f"{path}/pause"), ("GET", "/v1/whoami")):
        # It is IAM that refuses: the answer is no problem document of the API's own.
        answer = api.request(method, other, {} if method == "POST" else None)
        assert (answer.status, "detail" in answer.body) == (403, False), (method, other)
    assert api.request("DELETE", path).body["result"] == "cancelled"


def test_a_principal_that_no_client_lists_is_told_so_and_no_more(deployment: Deployment, acme: Tenant) -> None:
    stranger = deployment.stack.api(deployment.caller("stranger"))
    created = stranger.request("POST", "/v1/jobs", JOB)
    assert created.status == 403
    assert problem_of(created) == "the caller may not act for this client"
    assert stranger.request("GET", "/v1/jobs/any").status == 403
    assert stranger.request("PUT", "/v1/clients/mine", {"principals": []}).status == 403


def test_a_client_that_does_not_exist_and_one_of_somebody_else_are_the_same_answer(
    acme: Tenant, globex: Tenant
) -> None:
    answers = [globex.api.request("POST", "/v1/jobs", {**JOB, "clientId": who}) for who in ("acme", "nobody")]
    assert [answer.status for answer in answers] == [403, 403]
    assert answers[0].body == answers[1].body


@pytest.mark.parametrize("suffix", ["", "/executions"])
def test_a_job_of_another_client_does_not_exist(acme: Tenant, globex: Tenant, suffix: str) -> None:
    job_id = acme.create(target=TARGET, schedule={"delaySeconds": 3_600})["jobId"]
    assert acme.api.request("GET", f"/v1/jobs/{job_id}{suffix}").status == 200
    assert globex.api.request("GET", f"/v1/jobs/{job_id}{suffix}").status == 404
    assert globex.api.request("DELETE", f"/v1/jobs/{job_id}").status == 404
    assert acme.cancel(job_id)["result"] == "cancelled"


def test_an_execution_of_another_client_does_not_exist(acme: Tenant, globex: Tenant) -> None:
    job_id = acme.create(target=TARGET, schedule={"delaySeconds": 3_600})["jobId"]
    acme.cancel(job_id)
    execution_id = acme.get(f"/v1/jobs/{job_id}/executions")["items"][0]["executionId"]
    assert acme.get(f"/v1/executions/{execution_id}")["state"] == "CANCELLED"
    assert globex.api.request("GET", f"/v1/executions/{execution_id}").status == 404
