"""A recurring job on the deployed stack: each change of it takes effect with its answer."""

from __future__ import annotations

from typing import Any

from clockwork.domain.instants import from_text
from tests.e2e.hooks import Hook
from tests.e2e.tenant import Tenant
from tests.e2e.waiting import await_value


def ask(tenant: Tenant, method: str, path: str, body: Any, status: int = 200) -> Any:
    answer = tenant.api.request(method, path, body)
    assert answer.status == status, answer
    return answer.body


def dues(hook: Hook) -> list[int]:
    """The due instants of the occurrences that arrived."""
    return [from_text(arrival.headers["clockwork-due-at"]) for arrival in hook.arrivals]


def test_a_recurring_job_fires_in_time_and_obeys_pause_change_run_and_delete(acme: Tenant, hook: Hook) -> None:
    created = acme.create(hook, jobKey="every-second", schedule={"every": {"seconds": 1}}, payload="first")
    path = f"/v1/jobs/{created['jobId']}"
    hook.await_arrivals(3)

    paused = ask(acme, "POST", f"{path}/pause", {"reason": "maintenance"})
    assert (paused["state"], paused["revision"]) == ("PAUSED", 2)
    under_way = {execution["executionId"] for execution in paused["executions"]}
    so_far = {arrival.headers["webhook-id"] for arrival in hook.arrivals}

    run = ask(acme, "POST", f"{path}/run", {}, 202)["executionId"]
    await_value(lambda: [a for a in hook.arrivals if a.headers["webhook-id"] == run], "the run by hand")
    assert {arrival.headers["webhook-id"] for arrival in hook.arrivals} <= so_far | under_way | {run}

    changed = ask(acme, "PATCH", path, {"payload": "second"})
    assert changed["revision"] == 3
    resumed = ask(acme, "POST", f"{path}/resume", {})
    resumed_count = len(hook.arrivals)
    hook.await_arrivals(resumed_count + 3)
    assert {a.body for a in hook.arrivals[resumed_count:]} == {b"second"}
    assert resumed["state"] == "ACTIVE"

    deleted = acme.cancel(created["jobId"])
    assert deleted["result"] in ("cancelled", "running")
    listed = {execution["executionId"] for execution in deleted["executions"]}
    ended = {arrival.headers["webhook-id"] for arrival in hook.arrivals}
    again = acme.create(hook, jobKey="every-second", schedule={"delaySeconds": 3}, payload="third")
    await_value(lambda: [a for a in hook.arrivals if a.body == b"third"], "the next job of the key")
    late = [a for a in hook.arrivals if a.body != b"third" and a.headers["webhook-id"] not in ended | listed]
    assert late == []
    assert again["jobId"] != created["jobId"]

    ids = [arrival.headers["webhook-id"] for arrival in hook.arrivals]
    assert len(ids) == len(set(ids))
    assert all(arrival.at >= due for arrival, due in zip(hook.arrivals, dues(hook), strict=True))
