"""Dry runs: the answer as it would be, and nothing is written, whatever becomes of what is in flight."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from clockwork.domain.workflows.progress import Marks, Sets
from clockwork.memory.executions import MemoryRuns
from clockwork.ports.dry import READS, NotDry, dry
from tests.handlers.handlers import Api, job_body
from tests.handlers.test_changes_of_named_jobs import LATER, failing
from tests.handlers.test_named_api import EVERY, create, job_id, run
from tests.support.examples import ACME

DRY = {"dryRun": "true"}
FORESEEN = ("dryRun", "timingChanges", "nextFires")
CRON = {"cron": "30 2 * * *", "timezone": "Europe/Berlin"}


def both(api: Api, method: str, path: str, body: Any = None, **more: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """The fields of a dry run alone, once all others were compared with the call itself; and its answer."""
    foretold = api.call(method, path, body, query=DRY, **more)
    assert api.writes == []
    done = api.call(method, path, body, **more)
    assert foretold.status == done.status, foretold.text
    answer = dict(foretold.body)
    foreseen = {name: answer.pop(name) for name in FORESEEN}
    assert foreseen["dryRun"] is True
    assert answer == done.body
    return foreseen, done.body


def definition(**changes: Any) -> dict[str, Any]:
    return {**job_body(schedule=EVERY), **changes}


@pytest.mark.parametrize(
    ("method", "rest", "body", "retimes"),
    [
        ("PUT", "", definition(payload=2), False),
        ("PUT", "", definition(schedule=CRON), True),
        ("PATCH", "", {"payload": 7}, False),
        ("PATCH", "", {"schedule": {"every": {"seconds": 30}}}, True),
        ("PATCH", "", {"schedule": EVERY}, False),
        ("POST", "/pause", {"reason": "why"}, True),
        ("POST", "/resume", None, False),
        ("DELETE", "", None, True),
    ],
)
def test_a_dry_run_answers_as_the_call_itself(method: str, rest: str, body: Any, retimes: bool) -> None:
    api = Api()
    path = f"/v1/jobs/{job_id(api)}{rest}"
    foreseen, _ = both(api, method, path, body)
    assert foreseen["timingChanges"] is retimes
    assert bool(foreseen["nextFires"]) is (method != "DELETE")


def test_the_fires_are_those_that_would_be_with_the_shifts_of_the_clock() -> None:
    api = Api()
    path = f"/v1/jobs/{job_id(api)}"
    foreseen, _ = both(api, "PATCH", path, {"schedule": {"every": None, **CRON}})
    assert foreseen["nextFires"] == api.call("GET", path).body["nextFires"]
    assert len(foreseen["nextFires"]) == 10


def test_what_waits_and_what_would_end_is_told_and_stays() -> None:
    api = Api()
    failing(api)
    path = f"/v1/jobs/{job_id(api, retryPolicy=LATER)}"
    run(api, 12)
    (waiting,) = api.call("GET", f"{path}/executions").body["items"]
    kept, _ = both(api, "PATCH", path, {"payload": 8})
    foretold = api.call("POST", f"{path}/pause", {"waiting": "cancel"}, query=DRY)
    assert [one["executionId"] for one in foretold.body["ended"]] == [waiting["executionId"]]
    assert kept["timingChanges"] is False
    assert api.call("GET", f"/v1/executions/{waiting['executionId']}").body["state"] == "FAILED"
    _, done = both(api, "POST", f"{path}/pause", {"waiting": "cancel"})
    assert done["endedCount"] == 1


def test_what_a_resume_would_release_is_told_and_not_released() -> None:
    api = Api()
    path = f"/v1/jobs/{job_id(api, schedule={**EVERY, 'catchUp': 'all', 'catchUpWindowSeconds': 60})}"
    api.call("POST", f"{path}/pause")
    run(api, 45)
    before = len(api.clockwork.targets.delivered)
    foretold = api.call("POST", f"{path}/resume", query=DRY)
    assert foretold.body["releasedCount"] > 0
    run(api, 50)
    assert len(api.clockwork.targets.delivered) == before
    both(api, "POST", f"{path}/resume")


def test_a_create_is_foreseen_and_makes_no_job() -> None:
    api = Api()
    body = {"jobKey": "daily", **job_body(schedule=EVERY)}
    foretold = api.call("POST", "/v1/jobs", body, query=DRY)
    assert (foretold.status, foretold.body["state"], api.writes) == (201, "ACTIVE", [])
    assert foretold.body["timingChanges"] is True
    assert api.call("GET", f"/v1/jobs/{foretold.body['jobId']}").status == 404
    created = create(api, "daily")
    assert created.body["jobId"] == foretold.body["jobId"]
    again = api.call("POST", "/v1/jobs", body, query=DRY)
    assert (again.status, again.body["timingChanges"]) == (200, False)
    other = api.call("POST", "/v1/jobs", {**body, "payload": 3}, query=DRY)
    assert (other.status, other.pointers) == (409, ["/payload"])


def test_a_job_without_a_key_is_foreseen_and_not_kept() -> None:
    api = Api()
    foretold = api.call("POST", "/v1/jobs", job_body(), query=DRY, headers={"idempotency-key": "once"})
    assert (foretold.status, len(foretold.body["nextFires"]), api.writes) == (201, 1, [])
    assert api.call("GET", f"/v1/jobs/{foretold.body['jobId']}").status == 404
    run(api, 60)
    assert api.clockwork.targets.delivered == []
    made = api.create().body["jobId"]
    foreseen, done = both(api, "DELETE", f"/v1/jobs/{made}")
    assert (done["result"], foreseen["timingChanges"]) == ("cancelled", True)


def test_faults_conflicts_and_strangers_are_refused_as_by_the_call_itself() -> None:
    api = Api()
    path = f"/v1/jobs/{job_id(api)}"
    assert api.call("PATCH", path, {"schedule": {"every": {"seconds": 0}}}, query=DRY).status == 422
    assert api.call("PATCH", path, {"payload": 2}, query=DRY, headers={"if-match": "7"}).status == 409
    assert api.call("PATCH", path, {"payload": 2}, query=DRY, caller="arn:aws:iam::1:user/eve").status in (403, 404)
    assert api.call("PATCH", path, {"payload": 2}, query={"dryRun": "yes"}).pointers == ["?dryRun"]
    assert api.call("POST", f"{path}/run", {}, query=DRY).pointers == ["?dryRun"]


def test_a_dry_run_has_no_entry_in_the_trail_and_takes_no_job_of_the_day() -> None:
    api = Api()
    path = f"/v1/jobs/{job_id(api)}"
    api.call("POST", f"{path}/pause", {"reason": "no"}, query=DRY)
    assert api.call("GET", "/v1/audit").body["items"] == []
    assert api.call("GET", path).body["state"] == "ACTIVE"


def test_a_dry_run_of_another_schedule_counts_as_a_preview_and_not_as_a_job() -> None:
    api = Api()
    path = f"/v1/jobs/{job_id(api)}"
    api.clockwork.clients.put(msgspec.structs.replace(ACME, creates_per_second=1, jobs_per_day=1))
    answers = [api.call("PATCH", path, {"schedule": CRON}, query=DRY) for _ in range(20)]
    assert {one.status for one in answers} == {422}
    every = [api.call("PATCH", path, {"schedule": {"every": {"seconds": 77}}}, query=DRY) for _ in range(20)]
    assert {one.status for one in every} == {200, 429}


class TestPorts:
    """The ports of a dry run, alone."""

    def test_a_call_that_nobody_answers_is_refused_and_reaches_no_store(self) -> None:
        class Store:
            def put(self, *_: Any) -> None:
                pytest.fail("a dry run wrote")

        for name in ("clients", "pools", "workers", "checkpoints", "notices"):
            with pytest.raises(NotDry, match=rf"{name}\.put"):
                dry(name, Store()).put(1)

    def test_each_read_is_one_of_its_port(self) -> None:
        world = Api().clockwork.world
        for name, calls in READS.items():
            for call in calls:
                assert callable(getattr(dry(name, getattr(world, name)), call))

    def test_the_sets_of_a_run_are_those_that_would_be_and_the_store_keeps_its_own(self) -> None:
        store = MemoryRuns()
        sets = Sets(run_id="r", execution_id="e", partition_id="p", generation=1, generations=b"\1\1", graph=b"",
                    expires_at=9)  # fmt: skip
        store.put_new(sets)
        runs = dry("runs", store)
        assert runs.stop("r", 1).is_stopped
        added = runs.add("r", Marks(off=frozenset({1_000})))
        assert (added.is_stopped, added.has(1_000)) == (True, True)
        assert runs.stop("x", 1) is None
        assert runs.put_new(Sets(run_id="x", execution_id="e", partition_id="p", generation=1, generations=b"\1",
                                 graph=b"", expires_at=9))  # fmt: skip
        assert runs.stop("x", 1).is_stopped
        assert store.get(["r", "x"]) == [sets, None]
