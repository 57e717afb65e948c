"""The deployed API answers every request as its description says, and never with a server error.

Other tests send far more requests to the handler alone, in memory; here API Gateway, IAM, the real adapters and the
tables take part.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote, urlencode
from uuid import uuid4

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from schemathesis import Case
from schemathesis.config import SchemathesisConfig

from clockwork.edge.description import openapi
from clockwork.routes import ROUTES
from local.api import Answer, SignedApi
from tests.e2e.deployment import Deployment
from tests.e2e.tenant import Tenant
from tests.handlers.description import check_answer

CLIENT = "described"
#: No pool of the deployment: nobody's workers are touched.
POOL = "described"
#: Requests from the examples of the description, and a few drawn from its schemas.
SCHEMA = schemathesis.openapi.from_dict(
    openapi.describe(),
    config=SchemathesisConfig.from_dict({"phases": {"coverage": {"enabled": False}, "stateful": {"enabled": False}}}),
)
few = settings(
    max_examples=5,
    phases=[Phase.explicit, Phase.generate],
    deadline=None,
    database=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)
ADMINS = frozenset(route.key for route in ROUTES if route.admin)
#: Headers that HTTP and the signature own, so they cannot be drawn.
OWN_HEADERS = ("authorization", "host", "content-length", "content-type")


@pytest.fixture(scope="module")
def described(deployment: Deployment) -> Iterator[Tenant]:
    """A client of this module alone, which may be paused, changed and emptied: it reaches no other client's work.

    It is paused in the end, so that its drawn jobs keep no Lambda busy.
    """
    yield deployment.tenant(CLIENT)
    paused = deployment.stack.api().request("POST", f"/v1/clients/{CLIENT}/pause", {"reason": "described"})
    assert paused.status == 200, paused


@pytest.fixture(scope="module")
def definition(described: Tenant) -> dict[str, Any]:
    """The client's definition before each operation."""
    return {"principals": described.get(f"/v1/clients/{CLIENT}")["principals"]}


@pytest.fixture
def ids(admin: SignedApi, described: Tenant) -> dict[str, str]:
    """Existing ids for the parameters of paths, made anew for each test, since operations may delete them."""
    hourly = described.create(
        jobKey=uuid4().hex,
        schedule={"every": {"seconds": 3_600}},
        target={"type": "http", "url": "https://example.com"},
    )
    run = described.api.request("POST", f"/v1/jobs/{hourly['jobId']}/run", {}).body["executionId"]
    operation: Any = {"kind": "pauseJobs", "filter": {"prefix": "no-job"}}
    # Each test has the same one: a client may have few of them open.
    key = {"Idempotency-Key": CLIENT}
    begun = described.api.request("POST", f"/v1/clients/{CLIENT}/operations", json.dumps(operation), key)
    found = {"jobId": hourly["jobId"], "executionId": run, "operationId": begun.body["operationId"]}
    return {**found, "clientId": CLIENT, "pool": POOL, "token": "no-token"}


@pytest.fixture
def admin(deployment: Deployment, definition: dict[str, Any]) -> SignedApi:
    """The API as an admin calls it, once the client has its definition again."""
    api = deployment.stack.api()
    assert api.request("PUT", f"/v1/clients/{CLIENT}", definition).status == 200
    return api


@SCHEMA.parametrize()
@few
def test_the_deployed_api_keeps_its_description(
    case: Case[Any], admin: SignedApi, described: Tenant, ids: dict[str, str]
) -> None:
    key = f"{case.method.upper()} {case.operation.path}"
    api = admin if key in ADMINS else described.api
    if key == "DELETE /v1/clients/{clientId}":
        ids = {**ids, "clientId": _one_to_delete(admin)}
    answer = api.request(case.method.upper(), _path(case, ids), _body(case.body), _headers(case))
    assert answer.status < 500, answer
    if not _is_of_the_gateway(answer):
        text = answer.body if isinstance(answer.body, str) else json.dumps(answer.body)
        check_answer(key, answer.status, answer.headers["content-type"], text)


def _one_to_delete(admin: SignedApi) -> str:
    """A client that may go: the one of this module is needed by the operations that follow."""
    client_id = f"described-{uuid4().hex}"
    principals = [f"arn:aws:iam::000000000000:user/{client_id}"]
    assert admin.request("PUT", f"/v1/clients/{client_id}", {"principals": principals}).status in (200, 201)
    return client_id


def _path(case: Case[Any], ids: dict[str, str]) -> str:
    path = case.operation.path
    for name, value in ids.items():
        path = path.replace(f"{{{name}}}", value)
    query = {name: CLIENT if name == "clientId" else value for name, value in (case.query or {}).items()}
    return f"{path}?{urlencode(query, doseq=True, quote_via=quote)}" if query else path


def _body(body: Any) -> object:
    """The body as JSON, with an existing client in place of a drawn one; None where the operation takes no body."""
    if isinstance(body, dict) and "clientId" in body:
        body = {**body, "clientId": CLIENT}
    return json.dumps(body) if isinstance(body, dict | list | str | int | float | bool) else None


def _headers(case: Case[Any]) -> dict[str, str]:
    drawn = {name: str(value) for name, value in (case.headers or {}).items() if name.lower() not in OWN_HEADERS}
    return {name: value for name, value in drawn.items() if value.isascii() and value.isprintable() and value.strip()}


def _is_of_the_gateway(answer: Answer) -> bool:
    """Whether API Gateway itself refused the request, before it reached the API."""
    return 400 <= answer.status < 500 and isinstance(answer.body, dict) and list(answer.body) == ["message"]
