"""Reports without a signature on the deployed stack: by the token of an attempt, and nothing else comes in unsigned."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
import urllib3

from clockwork.routes import ROUTES
from tests.e2e.deployment import Deployment
from tests.e2e.hooks import Hooks
from tests.e2e.tenant import Tenant

CALLBACK = {"mode": "callback", "heartbeatSeconds": 60, "timeoutSeconds": 600}


def unsigned(deployment: Deployment, method: str, path: str, body: object = None) -> tuple[int, Any]:
    stack = deployment.stack
    url = f"{stack.endpoint_url}/_aws/execute-api/{stack.outputs['ApiId']}/$default{path}"
    with urllib3.PoolManager(ca_certs=str(stack.ca_bundle), retries=False) as pool:
        answer = pool.request(method, url, json=body) if body is not None else pool.request(method, url)
    return answer.status, json.loads(answer.data or b"null")


def test_a_receiver_without_credentials_beats_and_completes_its_attempt(
    deployment: Deployment, acme: Tenant, webhooks: Hooks
) -> None:
    hook = webhooks.hook()
    job_id = acme.create(hook, completion=CALLBACK)["jobId"]
    (arrival,) = hook.await_arrivals(1)
    path = f"/v1/completions/{arrival.headers['clockwork-token']}"
    status, beat = unsigned(deployment, "POST", path, {"outcome": "heartbeat", "progress": 0.5})
    assert (status, beat["state"], beat["cancelRequested"]) == (200, "RUNNING", False)
    assert unsigned(deployment, "POST", path, {"outcome": "complete", "result": {"pages": 12}})[0] == 200
    execution = acme.await_job(job_id, "SUCCEEDED")["lastExecution"]
    assert len(execution["attempts"]) == 1
    assert acme.get(f"/v1/executions/{execution['executionId']}")["report"]["result"] == {"pages": 12}
    wrong = [path[:-1] + ("A" if path[-1] != "A" else "B"), f"{path}x", "/v1/completions/x"]
    refused = [unsigned(deployment, "POST", one, {"outcome": "complete"}) for one in wrong]
    refused.append(unsigned(deployment, "POST", path, {"outcome": "fail", "error": "too late"}))
    assert [answer for answer in refused if answer != refused[0]] == []
    assert refused[0][0] == 404


@pytest.mark.parametrize("route", [route for route in ROUTES if not route.unsigned], ids=lambda route: route.key)
def test_no_other_route_lets_anybody_in_without_a_signature(deployment: Deployment, acme: Tenant, route: Any) -> None:
    path = re.sub(r"{\w+}", "x", route.path)
    status, body = unsigned(deployment, route.method, path, {} if route.method != "GET" else None)
    # It is API Gateway that refuses: the answer is no problem document of the API's own.
    assert (status, "detail" in body) == (403, False)
