"""The schedule of a named job as it is shown: fires to come, also while it is paused, and the end of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from clockwork.domain.executions import Execution
from clockwork.domain.instants import from_text, to_text
from clockwork.domain.named_jobs import NamedJob
from clockwork.memory.executions import MemoryExecutions
from tests.handlers.handlers import Api
from tests.handlers.test_changes_of_named_jobs import LATER, ONCE, failing
from tests.handlers.test_named_api import EVERY, create, job_id, run
from tests.support.examples import ADMIN


def shown(api: Api, path: str) -> Any:
    return api.call("GET", path).body


def at(api: Api, seconds: float) -> str:
    return to_text(api.clockwork.clock.at + int(seconds * 1000))


def test_the_next_fires_of_a_paused_job_are_shown_as_if_it_were_resumed_now() -> None:
    api = Api()
    path = f"/v1/jobs/{job_id(api)}"
    run(api, 13)
    paused = api.call("POST", f"{path}/pause").body
    assert (paused["state"], paused["nextFireAt"]) == ("PAUSED", at(api, 7))
    run(api, 30)
    now = shown(api, path)
    assert now["state"] == "PAUSED"
    assert [one["at"] for one in now["nextFires"]][:2] == [at(api, 7), at(api, 17)]
    assert api.call("GET", "/v1/jobs").body["items"][0]["nextFireAt"] == at(api, 7)
    api.call("POST", f"{path}/resume")
    assert shown(api, path)["nextFires"] == now["nextFires"]


def test_a_paused_job_that_fires_once_shows_the_instant_that_a_resume_would_deliver() -> None:
    api = Api()
    created = create(api, schedule={"delaySeconds": 5}).body
    path = f"/v1/jobs/{created['jobId']}"
    api.call("POST", f"{path}/pause")
    run(api, 60)
    assert [one["at"] for one in shown(api, path)["nextFires"]] == [created["dueAt"]]
    api.call("POST", f"{path}/resume")
    assert run(api, 5) == 1
    assert shown(api, path)["nextFires"] == []


def test_a_job_is_not_completed_while_its_last_fire_is_late_by_its_jitter() -> None:
    api = Api()
    for number in range(20):
        key = f"jittered-{number}"
        path = f"/v1/jobs/{job_id(api, key=key, schedule={**EVERY, 'maxFires': 1, 'jitterSeconds': 9})}"
        due_at = from_text(shown(api, path)["nextFires"][0]["at"])
        stored: NamedJob = api.clockwork.jobs.get([("acme", key)])[0]  # type: ignore[assignment]
        base_at = stored.chain_after_at + 10_000
        assert base_at <= due_at
        while api.clockwork.clock.at < due_at:
            state = shown(api, path)["state"]
            assert state == "ACTIVE"
            api.clockwork.clock.at += 1_500
        assert shown(api, path)["state"] == "COMPLETED"


def test_an_interval_without_an_anchor_counts_from_its_start() -> None:
    api = Api()
    start = at(api, 33.5)
    path = f"/v1/jobs/{job_id(api, schedule={**EVERY, 'startAt': start})}"
    assert [one["at"] for one in shown(api, path)["nextFires"]][:2] == [start, at(api, 43.5)]


def test_a_delivered_key_of_the_original_format_is_given_up_also_after_a_patch() -> None:
    api = Api()
    body = {
        "clientId": "acme",
        "scheduleKey": "k",
        "orderingKey": "o",
        "taskData": "1",
        "delivery": {"url": "https://example.com/hook"},
        "scheduleTime": api.clockwork.clock.at + 5_000,
    }
    assert api.call("POST", "/schedule", body).status == 200
    stored: NamedJob = api.clockwork.jobs.get([("acme", "k")])[0]  # type: ignore[assignment]
    changed = api.call("PATCH", f"/v1/jobs/{stored.job_id}", {"tags": {"team": "billing"}})
    assert changed.status == 200
    assert run(api, 30) == 1
    assert api.call("PATCH", f"/v1/jobs/{stored.job_id}", {"tags": {"team": "shipping"}}).status == 200
    assert api.call("POST", "/schedule", {**body, "taskData": "2"}).status == 200
    assert run(api, 30) == 1


def test_the_dead_are_listed_by_their_due_instants() -> None:
    api = Api()
    path = f"/v1/jobs/{job_id(api, retryPolicy=ONCE)}"
    failing(api)
    run(api, 45)
    dead = [one["dueAt"] for one in api.call("GET", f"{path}/executions").body["items"]]
    assert len(dead) == 4

    def listed(**query: str) -> list[str]:
        answer = api.call("GET", "/v1/clients/acme/dead", query=query)
        assert answer.status == 200
        return [one["dueAt"] for one in answer.body["items"]]

    assert listed() == dead
    assert listed(**{"from": dead[1]}) == dead[:2]
    assert listed(to=dead[1]) == dead[1:]
    assert listed(to="9999-12-31T00:00:00Z") == dead
    assert listed(to="1969-12-31T00:00:00Z") == []
    assert listed(**{"from": dead[2], "to": dead[1]}) == dead[1:3]
    refused = api.call("GET", "/v1/clients/acme/dead", query={"from": "yesterday", "to": "x"})
    assert (refused.status, refused.pointers) == (422, ["?from", "?to"])
    assert api.call("GET", "/v1/clients/acme/dead", caller=ADMIN).status == 200


def test_a_completed_job_shows_how_its_fires_have_ended() -> None:
    api = Api()
    path = f"/v1/jobs/{job_id(api, retryPolicy=ONCE, schedule={**EVERY, 'maxFires': 5, 'catchUp': 'none'})}"
    run(api, 15)
    failing(api)
    run(api, 10)
    assert "outcomes" not in shown(api, path)
    api.call("POST", f"{path}/pause")
    run(api, 20)
    api.call("POST", f"{path}/resume")
    run(api, 30)
    now = shown(api, path)
    expected = {"succeeded": 1, "dead": 2, "skipped": 2, "cancelled": 0, "expired": 0, "open": 0, "more": False}
    assert (now["state"], now["outcomes"]) == ("COMPLETED", expected)


def test_the_newest_hundred_fires_of_a_completed_job_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    api = Api()
    asked: list[int] = []
    listing = MemoryExecutions.list

    def noted(self: MemoryExecutions, job_id: str, limit: int, before: str | None) -> Sequence[Execution]:
        asked.append(limit)
        return listing(self, job_id, limit, before)

    path = f"/v1/jobs/{job_id(api, schedule={**EVERY, 'maxFires': 103})}"
    run(api, 1_040)
    monkeypatch.setattr(MemoryExecutions, "list", noted)
    outcomes = shown(api, path)["outcomes"]
    assert (outcomes["succeeded"], outcomes["more"]) == (100, True)
    assert sum(asked) == 101


def test_a_job_that_is_completed_while_its_last_fire_is_retried_says_so() -> None:
    api = Api()
    path = f"/v1/jobs/{job_id(api, retryPolicy=LATER, schedule={**EVERY, 'maxFires': 1})}"
    failing(api)
    run(api, 15)
    assert shown(api, path)["outcomes"]["open"] == 1
