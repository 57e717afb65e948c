"""Arbitrary input to the API: the answer is a success or a fault of the client (4xx), never a 5xx."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clockwork.routes import ROUTES
from tests.handlers.handlers import Api, job_body
from tests.support.events import http_event
from tests.support.examples import ADMIN, ALICE
from tests.support.searches import drawn

pytestmark = pytest.mark.long

API = Api(pools=("batch-etl=normal",))
NAMED = API.create(jobKey="k", schedule={"every": {"seconds": 3_600}}).body["jobId"]
IDS = {"jobId": NAMED, "clientId": "initech", "executionId": "x", "operationId": "x", "pool": "batch-etl", "token": "x"}
WITH_BODY = [(route.method, route.path.format(**IDS)) for route in ROUTES if route.method in ("POST", "PUT", "PATCH")]
WITH_ID = [(route.method, re.sub(r"{\w+}", "{}", route.path)) for route in ROUTES if "{" in route.path]
NAMES = ("schedule", "target", "payload", "retryPolicy", "record", "tags", "clientId", "jobs", "type", "url", "headers")
SUBNAMES = (
    "at",
    "delaySeconds",
    "queueArn",
    "timeoutSeconds",
    "maxAttempts",
    "principals",
    "every",
    "jobKey",
    "cron",
    "timezone",
    "exclude",
    "from",
    "to",
)

scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
    | st.sampled_from(["http", "sqs", "https://example.com/", "2023-11-14T22:13:20Z", "arn:aws:iam::1:user/a"])
)
names = st.sampled_from(NAMES + SUBNAMES) | st.text(max_size=5)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(names, inner, max_size=6), max_leaves=25
)
long_ids = st.builds(lambda text, times: (text * times)[:9_000], st.text("aA0-_.=~", min_size=1), st.just(9_000))
quick = settings(max_examples=drawn(150), deadline=None, suppress_health_check=[HealthCheck.too_slow])


def never_our_fault(event: dict[str, Any]) -> None:
    """Assert that the answer is not a 5xx, and that a refusal is a problem document."""
    answer = API.send(event)
    assert answer.status < 500, answer.text
    if answer.status >= 400:
        assert answer.content_type == "application/problem+json"
        assert answer.body["status"] == answer.status


@quick
@given(route=st.sampled_from(WITH_BODY), body=st.binary(max_size=200))
def test_any_bytes_as_a_body(route: tuple[str, str], body: bytes) -> None:
    never_our_fault(http_event(*route, body, caller=ALICE))


@quick
@given(route=st.sampled_from(WITH_BODY), body=st.text(max_size=200))
def test_any_text_as_a_body(route: tuple[str, str], body: str) -> None:
    never_our_fault(http_event(*route, body, caller=ADMIN))


@quick
@given(route=st.sampled_from(WITH_BODY), body=values, escaped=st.booleans())
def test_any_json_as_a_body(route: tuple[str, str], body: Any, escaped: bool) -> None:
    never_our_fault(http_event(*route, json.dumps(body, ensure_ascii=escaped), caller=ADMIN))


@quick
@given(name=st.sampled_from(NAMES), value=values, inside=names)
def test_any_json_in_a_valid_job(name: str, value: Any, inside: str) -> None:
    body = job_body(**{name: value})
    never_our_fault(http_event("POST", "/v1/jobs", json.dumps(body)))
    never_our_fault(http_event("PATCH", f"/v1/jobs/{NAMED}", json.dumps({name: value})))
    body = job_body()
    for part in ("schedule", "target"):
        body[part] = {**body[part], inside: value}
    never_our_fault(http_event("POST", "/v1/jobs", json.dumps(body)))
    never_our_fault(http_event("POST", "/v1/jobs/batch", json.dumps({"jobs": [body, value]})))


@quick
@given(
    route=st.sampled_from(WITH_ID),
    id_=st.text(min_size=1, max_size=50) | long_ids,
    query=st.dictionaries(names, st.text()),
)
def test_any_text_as_an_id_or_a_query(route: tuple[str, str], id_: str, query: dict[str, str]) -> None:
    method, path = route
    for caller in (ADMIN, ALICE):
        never_our_fault(http_event(method, path.replace("{}", id_), "{}", caller=caller, query=query))
        never_our_fault(http_event("GET", "/v1/jobs", caller=caller, query={**query, "clientId": "acme"}))


@quick
@given(authorizer=values, query=values, headers=st.none() | st.dictionaries(st.text(), st.text()))
def test_any_request_context(authorizer: Any, query: Any, headers: Any) -> None:
    event = http_event("GET", "/v1/jobs/x")
    event["requestContext"]["authorizer"] = authorizer
    answer = API.send(event | {"headers": headers or {}})
    assert answer.status == 403
