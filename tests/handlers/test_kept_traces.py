"""Traces across the wait: the trace context of a create stays with its job, and each delivery goes on with it."""

from __future__ import annotations

from typing import Any

import pytest

from clockwork.targets.http import HttpTarget
from tests.handlers.handlers import Api, job_body
from tests.handlers.test_named_api import EVERY, run
from tests.handlers.test_workflow_definitions import workflow

PARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
OTHER = "00-5bf92f3577b34da6a3ce929d0e0e4736-10f067aa0ba902b7-01"
ONCE = {"delaySeconds": 5}
HOOK = {"type": "http", "url": "https://example.com/hook"}


def traced(api: Api, method: str, path: str, body: Any, parent: str = PARENT) -> Any:
    answer = api.call(method, path, body, headers={"traceparent": parent})
    assert answer.status < 300, answer.text
    return answer.body


def create(api: Api, parent: str = PARENT, **changes: Any) -> Any:
    return traced(api, "POST", "/v1/jobs", job_body(**{"schedule": ONCE, **changes}), parent)


def delivered_in(api: Api, seconds: float = 12) -> list[str]:
    """Let time pass; returns the trace contexts with which targets of HTTP were called meanwhile."""
    before = len(api.clockwork.targets.delivered)
    run(api, seconds)
    made = api.clockwork.targets.delivered[before:]
    return [one.occurrence.target.traceparent for one in made if isinstance(one.occurrence.target, HttpTarget)]


@pytest.mark.parametrize("named", [{}, {"jobKey": "late"}])
def test_a_delivery_goes_on_with_the_trace_of_its_create(named: dict[str, str]) -> None:
    api = Api(tracing=True)
    create(api, **named)
    assert delivered_in(api) == [PARENT]


def test_each_job_of_a_batch_and_each_node_of_a_workflow_goes_on_with_it() -> None:
    api = Api(tracing=True)
    nodes = workflow({"a": {"target": HOOK}, "b": {"target": HOOK, "after": ["a"]}})
    jobs = [job_body(schedule=ONCE), job_body(schedule=ONCE, jobKey="flow", target=nodes)]
    traced(api, "POST", "/v1/jobs/batch", {"jobs": jobs})
    assert delivered_in(api) == [PARENT] * 3


def test_a_schedule_that_recurs_has_a_trace_of_its_own_for_each_delivery() -> None:
    api = Api(tracing=True)
    create(api, jobKey="tick", schedule=EVERY)
    assert delivered_in(api, 22) == [""] * 2


def test_a_change_keeps_the_trace_and_a_repeated_change_is_none() -> None:
    api = Api(tracing=True)
    at = f"/v1/jobs/{create(api, jobKey='late')['jobId']}"
    body = job_body(schedule=ONCE)
    assert traced(api, "PUT", at, body, OTHER)["revision"] == 1
    assert traced(api, "PATCH", at, {"payload": 7}, OTHER)["revision"] == 2
    assert delivered_in(api) == [PARENT]


def test_nobody_is_shown_a_trace_that_is_kept() -> None:
    api = Api(tracing=True)
    at = f"/v1/jobs/{create(api, jobKey='late')['jobId']}"
    assert PARENT.split("-")[1] not in api.call("GET", at).text


@pytest.mark.parametrize(
    "parent",
    [
        "",
        "00-" + "0" * 32 + "-00f067aa0ba902b7-01",
        PARENT.replace("00f067aa0ba902b7", "0" * 16),
        PARENT.upper(),
        "01" + PARENT[2:],
        PARENT + "-what-follows",
        PARENT + "\r\nx-evil: 1",
        "x" * 8_000,
    ],
)
def test_a_trace_that_cannot_be_read_is_not_kept_and_refuses_nothing(parent: str) -> None:
    api = Api(tracing=True)
    create(api, parent)
    assert delivered_in(api) == [""]


def test_without_the_option_nothing_is_kept() -> None:
    api = Api()
    create(api)
    assert delivered_in(api) == [""]
