"""Named jobs are always recorded: level `none` is refused, and a client's default does not count."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tests.handlers.handlers import Api, job_body
from tests.support.examples import ACME

EVERY = {"every": {"seconds": 10}}
SENTENCE = "must be full, or left out: a job with a jobKey is always recorded"


def by_default_none() -> Api:
    """The api Lambda, with a client whose jobs are not recorded unless they say so."""
    api = Api()
    api.clockwork.clients.put(msgspec.structs.replace(ACME, record="none"))
    return api


@pytest.mark.parametrize("schedule", [EVERY, {"delaySeconds": 30}])
@pytest.mark.parametrize("more", [{}, {"orderingKey": "k"}])
def test_a_named_job_at_level_none_is_refused_with_the_fix(schedule: Any, more: dict[str, Any]) -> None:
    api = Api()
    answer = api.create(jobKey="tick", schedule=schedule, record="none", **more)
    assert (answer.status, answer.pointers, answer.details) == (422, ["/record"], [SENTENCE])
    assert not api.writes


def test_in_a_batch_only_the_named_job_at_level_none_is_refused() -> None:
    api = Api()
    jobs = [job_body(record="none"), job_body(jobKey="a", record="none"), job_body(jobKey="b")]
    results = api.call("POST", "/v1/jobs/batch", {"jobs": jobs}).body["results"]
    assert [result["status"] for result in results] == [201, 422, 201]
    assert [fault["pointer"] for fault in results[1]["problem"]["errors"]] == ["/jobs/1/record"]


@pytest.mark.parametrize("method", ["PUT", "PATCH"])
def test_a_change_to_level_none_is_refused_and_leaves_the_job_alone(method: str) -> None:
    api = Api()
    path = f"/v1/jobs/{api.create(jobKey='tick', schedule=EVERY).body['jobId']}"
    changed = {"record": "none"} if method == "PATCH" else job_body(schedule=EVERY, record="none")
    answer = api.call(method, path, changed)
    assert (answer.status, answer.pointers, answer.details) == (422, ["/record"], [SENTENCE])
    assert api.call("GET", path).body["revision"] == 1


@pytest.mark.parametrize(
    "more", [{}, {"schedule": {**EVERY, "overlap": "skip"}}, {"orderingKey": "k"}, {"schedule": {"delaySeconds": 10}}]
)
def test_under_a_clients_default_of_none_a_named_job_is_recorded(more: dict[str, Any]) -> None:
    api = by_default_none()
    path = f"/v1/jobs/{api.create(**{'jobKey': 'tick', 'schedule': EVERY, **more}).body['jobId']}"
    assert api.call("GET", path).body["record"] == "full"
    api.clockwork.run_until(api.clockwork.clock.at + 12_000)
    (fired,) = api.call("GET", f"{path}/executions").body["items"]
    assert fired["state"] == "SUCCEEDED"
    put = api.call("PUT", path, job_body(schedule={"every": {"seconds": 60}}))
    assert put.status == 200
    assert api.call("GET", path).body["record"] == "full"


def test_under_a_clients_default_of_none_an_anonymous_job_is_not_recorded() -> None:
    api = by_default_none()
    path = f"/v1/jobs/{api.create().body['jobId']}"
    assert api.call("GET", path).body["record"] == "none"
    assert api.create(orderingKey="k").pointers == ["/orderingKey"]
