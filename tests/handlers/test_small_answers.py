"""Fields that readers look for: the key with executions, when a job was paused, the changes of one job."""

from __future__ import annotations

import pytest

from clockwork.domain import ids
from clockwork.domain.errors import Unavailable
from clockwork.domain.executions import Outcome, State
from clockwork.domain.instants import to_text
from clockwork.domain.named_jobs import NamedJob
from tests.handlers.handlers import Answer, Api, job_body
from tests.support.examples import ADMIN, ALICE, BOB


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


@pytest.mark.parametrize("record", ["none", "full"])
def test_a_job_that_leaves_no_record_says_so_until_its_first_failure(record: str) -> None:
    api = Api()
    api.clockwork.targets._answer = lambda one: Outcome(
        State.FAILED if b"fails" in one.occurrence.payload.body else State.SUCCEEDED, 0, 0, error="answered 503"
    )
    good, bad = (api.create(schedule={"delaySeconds": 600}, payload=one, record=record) for one in ("goes", "fails"))

    def told(job: Answer) -> tuple[str, bool | None]:
        shown = api.call("GET", f"/v1/jobs/{job.body['jobId']}").body
        return shown["state"], shown.get("notRecorded")

    assert (told(good), told(bad)) == (("SCHEDULED", None), ("SCHEDULED", None))
    api.clockwork.run_until(api.clockwork.clock.at + 601_000)
    assert (told(good), told(bad)) == (
        ("RELEASED", True) if record == "none" else ("SUCCEEDED", None),
        ("FAILED", None),
    )


def test_a_job_tells_since_when_it_is_paused_and_no_longer_when_it_is_resumed() -> None:
    api = Api()
    job_id = named(api)
    assert "pausedAt" not in api.call("GET", f"/v1/jobs/{job_id}").body
    api.call("POST", f"/v1/jobs/{job_id}/pause", {})
    assert api.call("GET", f"/v1/jobs/{job_id}").body["pausedAt"] == "2023-11-14T22:13:20.000Z"
    assert api.call("GET", "/v1/jobs").body["items"][0]["pausedAt"] == "2023-11-14T22:13:20.000Z"
    api.call("POST", f"/v1/jobs/{job_id}/resume", {})
    assert "pausedAt" not in api.call("GET", f"/v1/jobs/{job_id}").body


def test_a_job_tells_who_paused_it_and_whose_reason_it_has() -> None:
    api = Api()
    job_id = named(api)

    def paused_by() -> object:
        return api.call("GET", f"/v1/jobs/{job_id}").body.get("pausedBy")

    assert paused_by() is None
    api.call("POST", f"/v1/jobs/{job_id}/pause", {"reason": "a window"})
    assert paused_by() == ALICE
    assert api.call("GET", "/v1/jobs").body["items"][0]["pausedBy"] == ALICE
    api.call("POST", f"/v1/jobs/{job_id}/pause", {"reason": "an incident", "waiting": "cancel"}, caller=ADMIN)
    assert paused_by() == ADMIN
    api.call("PATCH", f"/v1/jobs/{job_id}", {"payload": "another"})
    assert paused_by() == ADMIN
    api.call("POST", f"/v1/jobs/{job_id}/resume", {})
    assert paused_by() is None
    api.call("POST", "/v1/clients/acme/jobs/pause", {"prefix": "night"}, caller=ADMIN)
    assert paused_by() == ADMIN
    api.call("DELETE", f"/v1/jobs/{job_id}")
    assert paused_by() is None


def test_an_attempt_under_way_tells_how_late_it_started() -> None:
    api = Api()
    body = job_body(schedule={"delaySeconds": 1}, completion={"mode": "callback"})
    job_id = api.call("POST", "/v1/jobs", body).body["jobId"]
    api.clockwork.run_until(api.clockwork.clock.at + 900)
    api.clockwork.clock.at += 1_600  # nobody looks at the queue for a while
    api.clockwork.run_until(api.clockwork.clock.at + 5_000)
    (one,) = api.call("GET", f"/v1/jobs/{job_id}/executions").body["items"]
    assert (one["state"], len(one["attempts"])) == ("RUNNING", 1)
    assert one["attempts"][0]["latenessMs"] == 1_500


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

    def test_a_job_tells_it_of_its_own_shard_while_it_has_something_ahead(self) -> None:
        api = Api()
        recurring = named(api)
        once = api.create(schedule={"delaySeconds": 400}).body["jobId"]
        ended = api.create(schedule={"delaySeconds": 1}).body["jobId"]
        api.clockwork.run_until(api.clockwork.clock.at + 60_000)
        shards = api.call("GET", "/v1/shards", caller=ADMIN).body["items"]
        stands = {one["partitionId"]: one.get("cursorAt") for one in shards}
        own = ids.decode_job(once)
        assert isinstance(own, ids.AnonymousJob)
        (_, job), *_ = api.clockwork.jobs.list("acme", None, None, 1).jobs
        assert isinstance(job, NamedJob)
        places = {once: own.partition_id, recurring: job.partition_id}
        for job_id, partition_id in places.items():
            found = api.call("GET", f"/v1/jobs/{job_id}").body
            assert found["releasedUntil"] == stands[partition_id]
            assert found["asOf"] == to_text(api.clockwork.clock.at)
        assert "releasedUntil" not in api.call("GET", f"/v1/jobs/{ended}").body

    def test_the_shards_are_read_once_in_five_seconds(self) -> None:
        api = Api()
        named(api)
        api.clockwork.run_until(api.clockwork.clock.at + 60_000)
        first = self.usage(api)
        api.clockwork.run_until(api.clockwork.clock.at + 4_000)
        assert self.usage(api)["asOf"] == first["asOf"]
        api.clockwork.run_until(api.clockwork.clock.at + 1_000)
        assert self.usage(api)["asOf"] != first["asOf"]

    def test_a_clock_that_goes_back_holds_it_no_longer(self) -> None:
        api = Api()
        named(api)
        api.clockwork.run_until(api.clockwork.clock.at + 60_000)
        self.usage(api)
        api.clockwork.clock.at -= 3_600_000
        assert self.usage(api)["asOf"] == to_text(api.clockwork.clock.at)

    def test_however_many_jobs_are_looked_at_the_shards_are_read_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        api = Api()
        jobs = [api.create(schedule={"delaySeconds": 400 + number}).body["jobId"] for number in range(40)]
        api.clockwork.run_until(api.clockwork.clock.at + 60_000)
        inner, reads = api.clockwork.world.shards.all, list[int]()

        def counted() -> object:
            reads.append(api.clockwork.clock.at)
            return inner()

        monkeypatch.setattr(api.clockwork.world.shards, "all", counted)
        for job_id in [*jobs, *jobs, f"{jobs[0]}x", "nowhere"]:
            api.call("GET", f"/v1/jobs/{job_id}")
            api.call("GET", f"/v1/jobs/{job_id}", caller=BOB)
        assert len(reads) == 1

    def test_nobody_is_told_of_the_shard_of_anothers_job(self) -> None:
        api = Api()
        job_id = api.create(schedule={"delaySeconds": 400}).body["jobId"]
        api.clockwork.run_until(api.clockwork.clock.at + 60_000)
        found = api.call("GET", f"/v1/jobs/{job_id}", caller=BOB)
        assert (found.status, "releasedUntil" in found.text, "asOf" in found.text) == (404, False, False)

    def test_shards_without_an_answer_hide_nothing_else(self, monkeypatch: pytest.MonkeyPatch) -> None:
        api = Api()

        def fails() -> None:
            raise Unavailable("no answer")

        monkeypatch.setattr(api.clockwork.world.shards, "all", fails)
        found = self.usage(api)
        assert ("releasedUntil" in found, "asOf" in found, found["clientId"]) == (False, False, "acme")
