"""Query parameters that an operation does not know are refused, on every route and by the API's own description."""

from __future__ import annotations

from typing import Any

import pytest

from clockwork.edge.description.parameters import PARAMETERS, query_of
from clockwork.routes import ROUTES, Route
from tests.handlers.description import DESCRIPTION
from tests.handlers.handlers import Answer, Api
from tests.support.examples import ADMIN, ALICE, BOB

#: Values that the documented parameters take.
VALUES = {"limit": "5", "clientId": "acme", "prefix": "a", "state": "ACTIVE", "tag": "a=b", "nextToken": "YQ"}
VALUES |= {"jobKey": "k", "from": "2026-05-01T00:00:00Z", "to": "2026-05-02T00:00:00Z"}
VALUES |= {
    "contains": "a",
    "include": "runs",
    "runs": "2",
    "step": "60",
    "count": "5",
    "dryRun": "false",
    "kind": "dead",
    "jobId": "j",
    "jobs": "named",
    "dueFrom": "2026-05-01T00:00:00Z",
    "dueTo": "2026-05-02T00:00:00Z",
}


def described(route: Route) -> list[str]:
    """The query parameters of a route, by the description as it is served."""
    return list(taken(route))


def taken(route: Route) -> dict[str, str]:
    """A value that is taken for each of them: states differ from route to route."""
    operation: dict[str, Any] = DESCRIPTION["paths"][route.path][route.method.lower()]
    query = [one for one in operation.get("parameters", ()) if one["in"] == "query"]
    return {one["name"]: one["schema"].get("enum", [VALUES[one["name"]]])[0] for one in query}


def ask(route: Route, query: dict[str, str], caller: str | None = None) -> tuple[Api, Answer]:
    api = Api()
    job_id = api.create(jobKey="k", schedule={"every": {"seconds": 60}}).body["jobId"]
    execution_id = f"{job_id}.1700000000000.0"
    path = route.path.format(
        jobId=job_id, clientId="acme", executionId=execution_id, operationId="o", pool="p", token="t"
    )
    asking = caller or (ADMIN if route.admin else ALICE)
    return api, api.call(route.method, path, None if route.method == "GET" else {}, caller=asking, query=query)


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.key)
def test_an_unknown_parameter_is_refused_on_every_route_with_those_it_takes(route: Route) -> None:
    known = described(route)
    for unknown in ("limt", "Limit", "limit ", "x-amz-acl"):
        api, answer = ask(route, {**taken(route), unknown: "1"})
        assert (answer.status, answer.pointers) == (400 if route.original else 422, [f"?{unknown}"])
        meant = "limit" if "limit" in known and unknown != "x-amz-acl" else None
        takes = f"operation takes {', '.join(known) or 'none'}"
        explained = f"did you mean {meant}? This {takes}" if meant else f"this {takes}"
        assert answer.details == [f"is not a known query parameter: {explained}"]
        assert api.writes == []


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.key)
def test_a_parameter_that_is_described_is_known(route: Route) -> None:
    assert described(route) == list(query_of(route.operation))
    for name, value in taken(route).items():
        _, answer = ask(route, {name: value})
        assert "not a known query parameter" not in answer.text


def test_the_routes_have_all_parameters_of_the_description() -> None:
    told = {name for route in ROUTES for name in described(route)}
    assert told == {one.get("name", name) for name, one in PARAMETERS.items() if one["in"] == "query"} == set(VALUES)


def test_a_request_may_be_signed_in_its_query() -> None:
    signature = {"X-Amz-Algorithm": "AWS4-HMAC-SHA256", "X-Amz-Credential": "c", "X-Amz-Date": "d"}
    signature |= {"X-Amz-SignedHeaders": "host", "X-Amz-Expires": "60", "X-Amz-Security-Token": "t"}
    answer = Api().call("GET", "/v1/jobs", query={"limit": "5", **signature, "X-Amz-Signature": "s"})
    assert answer.status == 200


def test_many_and_long_unknown_parameters_have_a_bounded_answer() -> None:
    near = Api().call("GET", "/v1/jobs", query={f"limit{number}": "" for number in range(500)})
    assert (near.status, "did you mean" in near.text) == (422, False)
    answer = Api().call("GET", "/v1/jobs", query={f"{number}{'x' * 2_000}": "" for number in range(500)})
    assert (answer.status, len(answer.pointers)) == (422, 101)
    assert answer.details[-1] == "has 400 more faults"
    assert max(map(len, answer.pointers)) == 257


ADMIN_ROUTES = [route for route in ROUTES if route.admin]


@pytest.mark.parametrize("body", ["{", "[]", '{"a": 1, "a": 2}', '{"no": "field"}', None])
@pytest.mark.parametrize("route", ADMIN_ROUTES, ids=lambda route: route.key)
def test_who_is_no_admin_learns_nothing_else_on_an_admins_route(route: Route, body: str | None) -> None:
    for caller in (ALICE, BOB):
        for query in ({}, {"limt": "1"}):
            api = Api()
            path = route.path.format(clientId="acme", pool="p")
            answer = api.call(route.method, path, body, caller=caller, query=query)
            assert (answer.status, answer.details) == (403, ["only an admin principal may do this"])
            assert api.calls == []
