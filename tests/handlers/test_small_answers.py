"""Fields that readers look for: the key with executions, when a job was paused, the changes of one job."""

from __future__ import annotations

import pytest

from clockwork.domain.errors import Unavailable
from tests.handlers.handlers import Api, job_body
from tests.support.examples import ADMIN, BOB


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


class TestReleasedUntil:
    """`releasedUntil` in a client's usage: until then all is on its way, whatever fails."""

    def usage(self, api: Api) -> dict[str, object]:
        found: dict[str, object] = api.call("GET", "/v1/clients/acme/usage").body
        return found

    def test_nobody_knows_before_each_shard_was_polled(self) -> None:
        api = Api()
        named(api)
        assert "releasedUntil" not in self.usage(api)
        assert self.usage(api)["asOf"] == "2023-11-14T22:13:20.000Z"

    def test_it_is_where_the_shard_stands_that_is_furthest_behind(self) -> None:
        api = Api()
        named(api)
        api.clockwork.run_until(api.clockwork.clock.at + 60_000)
        found = self.usage(api)
        stands = [one["cursorAt"] for one in api.call("GET", "/v1/shards", caller=ADMIN).body["items"]
                  if not one["ordered"]]  # fmt: skip
        assert found["releasedUntil"] == min(stands)
        assert str(found["releasedUntil"]) > "2023-11-14T22:14:20"

    def test_the_shards_are_read_once_in_five_seconds(self) -> None:
        api = Api()
        named(api)
        api.clockwork.run_until(api.clockwork.clock.at + 60_000)
        first = self.usage(api)
        api.clockwork.run_until(api.clockwork.clock.at + 4_000)
        assert self.usage(api)["asOf"] == first["asOf"]
        api.clockwork.run_until(api.clockwork.clock.at + 1_000)
        assert self.usage(api)["asOf"] != first["asOf"]

    def test_shards_without_an_answer_hide_nothing_else(self, monkeypatch: pytest.MonkeyPatch) -> None:
        api = Api()

        def fails() -> None:
            raise Unavailable("no answer")

        monkeypatch.setattr(api.clockwork.world.shards, "all", fails)
        found = self.usage(api)
        assert ("releasedUntil" in found, "asOf" in found, found["clientId"]) == (False, False, "acme")
