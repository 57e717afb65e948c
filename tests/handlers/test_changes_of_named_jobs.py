"""Changes of named jobs over the API: what counts as a change, what its answer says, and bad input."""

from __future__ import annotations

from typing import Any

import pytest

from clockwork.domain.executions import State
from clockwork.domain.named_jobs import NamedJob
from clockwork.targets.http import HttpTarget
from tests.handlers.handlers import Answer, Api, job_body
from tests.handlers.test_named_api import EVERY, create, job_id, run
from tests.support.examples import failure, success
from tests.support.named import execution_of

#: One attempt, so that an execution that fails is DEAD at once.
ONCE = {"maxAttempts": 1}
#: A second attempt after a minute.
LATER = {"maxAttempts": 3, "backoff": "fixed", "initialSeconds": 60, "jitter": "none"}


def failing(api: Api) -> None:
    api.clockwork.targets._answer = lambda _: failure(started_at=api.clockwork.clock.now())


def healed(api: Api) -> None:
    api.clockwork.targets._answer = lambda _: success(api.clockwork.clock.now())


@pytest.mark.parametrize("call", ["pause", "resume"])
def test_an_unknown_waiting_is_refused(call: str) -> None:
    api = Api()
    answer = api.call("POST", f"/v1/jobs/{job_id(api)}/{call}", {"waiting": "drop"})
    assert (answer.status, answer.pointers) == (422, ["/waiting"])


def test_a_patch_that_changes_nothing_says_so() -> None:
    api = Api()
    path = f"/v1/jobs/{job_id(api)}"
    same = api.call("PATCH", path, {"schedule": EVERY})
    assert (same.status, same.body["changed"], same.body["revision"]) == (200, False, 1)
    assert not [call for call in api.writes if call.startswith("jobs.")]
    other = api.call("PATCH", path, {"payload": 7})
    assert (other.status, other.body["changed"], other.body["revision"]) == (200, True, 2)


def test_a_revision_that_does_not_match_is_refused_with_both() -> None:
    api = Api()
    path = f"/v1/jobs/{job_id(api)}"
    api.call("PATCH", path, {"payload": 7})
    refused = api.call("PATCH", path, {"payload": 8}, headers={"if-match": "1"})
    assert refused.status == 409
    assert "revision 2" in refused.body["detail"]
    assert "revision 1" in refused.body["detail"]


@pytest.mark.parametrize(
    "schedule",
    [
        {**EVERY, "catchUp": "latest"},
        {**EVERY, "overlap": "allow", "jitterSeconds": 0},
        {**EVERY, "timezone": "Europe/Berlin"},
        {**EVERY, "catchUp": "none", "catchUpWindowSeconds": 5},
    ],
)
def test_defaults_spelled_out_and_what_is_no_timing_leave_the_phase_alone(schedule: dict[str, Any]) -> None:
    api = Api()
    path = f"/v1/jobs/{job_id(api)}"
    run(api, 13)
    changed = api.call("PATCH", path, {"schedule": schedule})
    assert changed.body["nextFireAt"].endswith(":40.000Z")
    assert run(api, 58) == 6
    assert {d.occurrence.due_at % 10_000 for d in api.clockwork.targets.delivered} == {0}


def test_a_delay_is_not_counted_anew_by_a_change_of_the_payload() -> None:
    api = Api()
    created = create(api, schedule={"delaySeconds": 300})
    run(api, 100)
    changed = api.call("PATCH", f"/v1/jobs/{created.body['jobId']}", {"payload": 7})
    assert changed.body["dueAt"] == created.body["dueAt"]


def test_an_answer_says_what_goes_on_and_what_was_ended() -> None:
    api = Api()
    path = f"/v1/jobs/{job_id(api, retryPolicy=LATER)}"
    failing(api)
    run(api, 25)
    kept = api.call("POST", f"{path}/pause").body
    assert (kept["goesOnCount"], kept["endedCount"]) == (2, 0)
    assert {one["state"] for one in kept["goesOn"]} == {"FAILED"}
    ended = api.call("POST", f"{path}/pause", {"waiting": "cancel"}).body
    assert (ended["goesOnCount"], ended["endedCount"], ended["changed"]) == (0, 2, True)
    assert {one["state"] for one in ended["ended"]} == {"CANCELLED"}
    assert api.call("POST", f"{path}/pause", {"waiting": "cancel"}).body["changed"] is False
    deleted = api.call("DELETE", path).body
    assert (deleted["result"], deleted["endedCount"]) == ("cancelled", 0)


@pytest.mark.parametrize("method", ["PATCH", "DELETE"])
def test_an_answer_lists_the_first_hundred_that_run_and_counts_them_all(method: str) -> None:
    api = Api()
    path = f"/v1/jobs/{job_id(api)}"
    (job,) = api.clockwork.jobs.get([("acme", "tick")])
    assert isinstance(job, NamedJob)
    now = api.clockwork.clock.at
    running = [execution_of(job, now - second * 1000, State.RUNNING) for second in range(150)]
    api.clockwork.executions.save([(None, one) for one in running])
    answer = api.call(method, path, {"payload": 7} if method == "PATCH" else None)
    assert answer.status == 200
    assert (len(answer.body["executions"]), answer.body["executionsCount"]) == (100, 150)


def test_a_redrive_goes_by_the_definition_of_today_or_as_it_was() -> None:
    api = Api()
    path = f"/v1/jobs/{job_id(api, retryPolicy=ONCE, payload=1)}"
    failing(api)
    run(api, 25)
    dead = [one["executionId"] for one in api.call("GET", f"{path}/executions").body["items"] if one["state"] == "DEAD"]
    api.call("PATCH", path, {"payload": 2})
    api.call("POST", f"{path}/pause")
    healed(api)
    for execution_id, body in zip(dead, [{}, {"asItWas": True}], strict=True):
        assert api.call("POST", f"/v1/executions/{execution_id}/redrive", body).status == 200
    run(api, 5)
    delivered = {d.execution_id: d.occurrence for d in api.clockwork.targets.delivered[-2:]}
    assert [delivered[one].payload.body for one in dead] == [b"2", b"1"]
    assert all(isinstance(one.target, HttpTarget) for one in delivered.values())


def test_a_redrive_of_a_deleted_job_needs_as_it_was() -> None:
    api = Api()
    path = f"/v1/jobs/{job_id(api, retryPolicy=ONCE)}"
    failing(api)
    run(api, 12)
    (dead,) = [one["executionId"] for one in api.call("GET", f"{path}/executions").body["items"]]
    api.call("DELETE", path)
    healed(api)
    refused = api.call("POST", f"/v1/executions/{dead}/redrive")
    assert (refused.status, "asItWas" in refused.body["detail"]) == (409, True)
    assert api.call("POST", f"/v1/executions/{dead}/redrive", {"asItWas": True}).status == 200
    assert run(api, 5) == 1


#: The five calls that change a job, with a body that leaves its definition alone.
FIVE: dict[str, tuple[str, str, Any]] = {
    "PUT": ("PUT", "", "whole"),
    "PATCH": ("PATCH", "", {"payload": 8}),
    "pause": ("POST", "/pause", None),
    "resume": ("POST", "/resume", None),
    "DELETE": ("DELETE", "", None),
}


def changing(api: Api, path: str, call: str, **headers: str) -> Answer:
    method, rest, body = FIVE[call]
    if body == "whole":
        sent = job_body(payload=8, schedule=EVERY, retryPolicy=LATER)
        body = {name: value for name, value in sent.items() if name not in ("clientId", "jobKey")}
    return api.call(method, path + rest, body, headers=headers)


@pytest.mark.parametrize("call", FIVE)
def test_the_answer_to_each_of_the_five_says_what_runs_goes_on_was_ended_and_was_released(call: str) -> None:
    api = Api()
    path = f"/v1/jobs/{job_id(api, retryPolicy=LATER)}"
    failing(api)
    run(api, 25)
    if call == "resume":
        api.call("POST", f"{path}/pause")
        run(api, 10)
    answer = changing(api, path, call)
    assert answer.status == 200
    told = answer.body
    waiting = {
        f"{api.clockwork.targets.delivered[0].job_id}.{d.occurrence.due_at}.0" for d in api.clockwork.targets.delivered
    }
    ended = {one["executionId"] for one in told["ended"]}
    assert told["endedCount"] == len(ended)
    assert told["executionsCount"] == len(told["executions"]) == 0
    if call == "DELETE":
        assert ended == waiting
        assert {one["state"] for one in told["ended"]} == {"CANCELLED"}
        return
    assert told["changed"] is True
    assert {one["executionId"] for one in told["goesOn"]} == waiting
    assert told["goesOnCount"] == len(waiting)
    assert ended == set()
    released = {one["executionId"] for one in told["released"]}
    assert told["releasedCount"] == len(released)
    # Only a resume sends anything: what its schedule delivers of the pause, and what is due soon.
    assert bool(released - waiting) is (call == "resume")


@pytest.mark.parametrize("call", FIVE)
def test_each_of_the_five_refuses_a_revision_of_before_with_both(call: str) -> None:
    api = Api()
    path = f"/v1/jobs/{job_id(api)}"
    api.call("PATCH", path, {"payload": 7})
    if call == "resume":
        api.call("POST", f"{path}/pause")
    refused = changing(api, path, call, **{"if-match": "1"})
    assert refused.status == 409
    revision = 3 if call == "resume" else 2
    assert f"revision {revision}" in refused.body["detail"]
    assert "revision 1" in refused.body["detail"]
