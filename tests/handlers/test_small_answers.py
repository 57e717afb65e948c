"""Fields that readers look for: the key with executions, since when a job is paused, the changes of one job."""

from __future__ import annotations

from tests.handlers.handlers import Api, job_body
from tests.support.examples import BOB


def named(api: Api, key: str = "nightly") -> str:
    body = job_body(clientId="acme", jobKey=key, schedule={"every": {"seconds": 60}})
    return str(api.call("POST", "/v1/jobs", body).body["jobId"])


def test_executions_of_a_named_job_have_its_key_and_others_have_none() -> None:
    api = Api()
    job_id = named(api)
    ran = api.call("POST", f"/v1/jobs/{job_id}/run", {}).body["executionId"]
    api.clockwork.run_until(api.clockwork.clock.at + 5_000)
    assert api.call("GET", f"/v1/executions/{ran}").body["jobKey"] == "nightly"
    assert {one["jobKey"] for one in api.call("GET", f"/v1/jobs/{job_id}/executions").body["items"]} == {"nightly"}
    lone = api.create(schedule={"delaySeconds": 1}).body["jobId"]
    api.clockwork.run_until(api.clockwork.clock.at + 5_000)
    (one,) = api.call("GET", f"/v1/jobs/{lone}/executions").body["items"]
    assert "jobKey" not in one


def test_a_job_tells_since_when_it_is_paused_and_no_longer_when_it_is_resumed() -> None:
    api = Api()
    job_id = named(api)
    assert "pausedAt" not in api.call("GET", f"/v1/jobs/{job_id}").body
    api.call("POST", f"/v1/jobs/{job_id}/pause", {})
    assert api.call("GET", f"/v1/jobs/{job_id}").body["pausedAt"] == "2023-11-14T22:13:20.000Z"
    assert api.call("GET", "/v1/jobs").body["items"][0]["pausedAt"] == "2023-11-14T22:13:20.000Z"
    api.call("POST", f"/v1/jobs/{job_id}/resume", {})
    assert "pausedAt" not in api.call("GET", f"/v1/jobs/{job_id}").body


def test_the_trail_of_one_job_has_its_changes_alone_over_all_pages() -> None:
    api = Api()
    first, second = named(api, "first"), named(api, "second")
    for job_id in (first, second, second, first):
        api.call("POST", f"/v1/jobs/{job_id}/pause", {"reason": job_id})
        api.call("POST", f"/v1/jobs/{job_id}/resume", {})
    found, token = list[str](), None
    for _ in range(20):
        query = {"jobId": first, "limit": "3", **({"nextToken": token} if token else {})}
        page = api.call("GET", "/v1/audit", query=query).body
        found += [one["jobId"] for one in page["items"]]
        token = page.get("nextToken")
        if token is None:
            break
    assert found == [first] * 4
    assert api.call("GET", "/v1/audit", query={"jobId": first, "clientId": "acme"}, caller=BOB).status == 403
