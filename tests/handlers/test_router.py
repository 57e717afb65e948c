"""Every route is found by its method and path, and nothing else is."""

from __future__ import annotations

import re
from typing import Any

import pytest

from clockwork.edge.http.router import Router
from clockwork.routes import ROUTES, Route

ROUTER = Router(ROUTES)


def event(method: str, path: str, stage: str = "$default") -> dict[str, Any]:
    return {"rawPath": path, "requestContext": {"stage": stage, "http": {"method": method}}}


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.key)
def test_every_route_is_found_with_its_parameters(route: Route) -> None:
    wanted = {name: f"a-{name}.~" for name in re.findall(r"{(\w+)}", route.path)}
    assert ROUTER.find(event(route.method, route.path.format(**wanted))) == (route, wanted)


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.key)
def test_a_named_stage_stands_before_the_path(route: Route) -> None:
    wanted = dict.fromkeys(re.findall(r"{(\w+)}", route.path), "x")
    assert ROUTER.find(event(route.method, f"/v7{route.path.format(**wanted)}", "v7")) == (route, wanted)


def test_a_path_without_parameters_goes_before_one_with() -> None:
    found = ROUTER.find(event("POST", "/v1/jobs/batch"))
    assert found is not None
    assert found[0].operation == "create_batch"
    # There is no GET of it: the last part is a jobId then.
    found = ROUTER.find(event("GET", "/v1/jobs/batch"))
    assert found is not None
    assert (found[0].operation, found[1]) == ("get_job", {"jobId": "batch"})


@pytest.mark.parametrize(
    ("method", "path"),
    [
        *(("PUT", "/v1/jobs"), ("HEAD", "/v1/health"), ("post", "/v1/jobs"), ("", ""), ("GET", "")),
        *(("GET", "/"), ("GET", "/v1/jobs/"), ("GET", "/v1/jobs//executions"), ("GET", "/v1/jobs/a/b")),
        *(("GET", "v1/jobs"), ("GET", "/v1/jobs/a/executions/"), ("GET", "//v1/jobs"), ("GET", "/v1/{jobId}")),
        *(("GET", "/v1/health\n"), ("GET", "/v1" + "/a" * 10_000)),
    ],
)
def test_nothing_else_is_found(method: str, path: str) -> None:
    assert ROUTER.find(event(method, path)) is None
