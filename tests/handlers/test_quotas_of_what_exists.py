"""Requests that make occurrences of a job that exists count against its client's caps, as a create does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from clockwork.domain.executions import Outcome, State
from clockwork.domain.instants import to_text
from tests.handlers.handlers import Answer, Api
from tests.support.examples import ADMIN, ALICE, BOB

EVERY = {"every": {"seconds": 10}}
DAY = 86_400


def capped(api: Api, **caps: Any) -> None:
    """Give acme these caps, and no others."""
    assert api.call("PUT", "/v1/clients/acme", {"principals": [ALICE], **caps}, caller=ADMIN).status == 200


def api_with_job() -> tuple[Api, str]:
    """An API with one api environment, whose client acme has a job that has fired ten times; and the job's path."""
    api = Api(api_environments=1)
    created = api.create(jobKey="tick", schedule=EVERY)
    api.clockwork.run_until(api.clockwork.clock.at + 101_000)
    return api, f"/v1/jobs/{created.body['jobId']}"


def api_with_dead(count: int) -> tuple[Api, list[str]]:
    """An API with one api environment, whose client acme has so many dead executions; and their ids."""
    api = Api(api_environments=1)

    def fail(_: Any) -> Outcome:
        now = api.clockwork.clock.now()
        return Outcome(State.FAILED, now, now, error="HTTP 500")

    api.clockwork.targets._answer = fail
    for number in range(count):
        api.create(schedule={"delaySeconds": 1 + number}, retryPolicy={"maxAttempts": 1})
    api.clockwork.run_until(api.clockwork.clock.at + 60_000)
    items = api.call("GET", "/v1/clients/acme/dead").body["items"]
    assert len(items) == count
    return api, [item["executionId"] for item in items]


def refused_for_now(api: Api, answer: Answer, longest: int) -> None:
    """The request was refused with 429 and a Retry-After of at most `longest` seconds, before anything was written."""
    assert answer.status == 429, answer.text
    assert 1 <= int(answer.headers["Retry-After"]) <= longest
    # The day's counter is asked: it counts nothing when it says no.
    assert [call for call in api.writes if call != "regulation.count_created"] == []


def change(**definition: Any) -> dict[str, Any]:
    return {"schedule": EVERY, "target": {"type": "http", "url": "https://example.com/hook"}, **definition}


#: The requests that make one occurrence of a job that exists.
MAKING: dict[str, Callable[[Api, str, int], Answer]] = {
    "run": lambda api, path, _: api.call("POST", f"{path}/run"),
    "put": lambda api, path, n: api.call("PUT", path, change(schedule={"every": {"seconds": 20 + n}})),
    "patch": lambda api, path, n: api.call("PATCH", path, {"schedule": {"every": {"seconds": 20 + n}}}),
}


@pytest.mark.parametrize("kind", MAKING)
def test_what_makes_an_occurrence_counts_as_one_create_of_a_second(kind: str) -> None:
    api, path = api_with_job()
    capped(api, createsPerSecond=1)
    answers = [MAKING[kind](api, path, number) for number in range(4)]
    assert {answer.status for answer in answers[:2]} <= {200, 202}
    refused_for_now(api, answers[-1], 2)
    api.clockwork.clock.at += int(answers[-1].headers["Retry-After"]) * 1000
    assert MAKING[kind](api, path, 9).status == answers[0].status


@pytest.mark.parametrize("kind", MAKING)
def test_what_makes_an_occurrence_counts_as_one_job_of_the_day(kind: str) -> None:
    api, path = api_with_job()
    capped(api, jobsPerDay=2)
    assert [MAKING[kind](api, path, number).status in (200, 202) for number in range(2)] == [True, True]
    refused_for_now(api, MAKING[kind](api, path, 2), DAY)
    assert api.create().status == 429


def test_a_change_that_arms_nothing_anew_is_not_counted() -> None:
    api, path = api_with_job()
    capped(api, jobsPerDay=1)
    for number in range(3):
        assert api.call("PATCH", path, {"payload": {"n": number}}).status == 200
        assert api.call("PUT", path, change(payload=number)).status == 200
        assert api.call("PUT", path, change(payload=number)).status == 200
    for answer in (api.call("POST", f"{path}/pause"), api.call("POST", f"{path}/resume")):
        assert answer.status == 200
    assert api.call("PATCH", path, {"schedule": {"every": {"seconds": 20}}}, headers={"if-match": "x"}).status == 422
    assert api.call("POST", f"{path}/run", {"n": 1}).status == 422
    assert api.call("POST", f"{path}/run").status == 202
    assert api.call("POST", f"{path}/run").status == 429


def test_a_backfill_counts_by_its_fires_before_anything_is_written() -> None:
    api, path = api_with_job()
    now = api.clockwork.clock.at

    def backfill(seconds: int) -> Answer:
        asked = {"from": to_text(now - seconds * 1000), "to": to_text(now), "maxPerSecond": 5}
        return api.call("POST", f"{path}/backfill", asked, headers={"idempotency-key": f"k{seconds}"})

    capped(api, jobsPerDay=14)
    assert backfill(100).body["count"] == 10
    refused_for_now(api, backfill(60), DAY)
    assert backfill(40).body["count"] == 4
    refused_for_now(api, backfill(10), DAY)
    capped(api, createsPerSecond=2)
    assert backfill(100).body["count"] == 10
    refused_for_now(api, backfill(99), 5)


def test_a_redrive_counts_as_one_and_one_that_redrives_nothing_does_not() -> None:
    api, (first, second, *_) = api_with_dead(3)
    capped(api, jobsPerDay=1)
    for _ in range(2):
        # The second time it waits already: a repeat makes nothing.
        assert api.call("POST", f"/v1/executions/{first}/redrive").status == 200
    refused_for_now(api, api.call("POST", f"/v1/executions/{second}/redrive"), DAY)
    capped(api, jobsPerDay=2)
    assert api.call("POST", f"/v1/executions/{second}/redrive").status == 200


def test_a_redrive_by_filter_counts_those_that_it_redrives() -> None:
    api, ids = api_with_dead(5)
    path = "/v1/clients/acme/dead/redrive"
    # The one that was due first, with which a redrive by filter begins.
    assert api.call("POST", f"/v1/executions/{ids[-1]}/redrive").status == 200
    capped(api, jobsPerDay=3)
    refused_for_now(api, api.call("POST", path, {}), DAY)
    assert {one["state"] for one in api.call("GET", "/v1/clients/acme/dead").body["items"][:-1]} == {"DEAD"}
    first = api.call("POST", path, {"limit": 4})
    assert first.body["changed"] == 3
    refused_for_now(api, api.call("POST", path, {"nextToken": first.body["nextToken"]}), DAY)
    # What is put away makes nothing.
    assert api.call("POST", "/v1/clients/acme/dead/discard", {}).body["changed"] == 1
    assert api.call("POST", path, {}).body["changed"] == 0


def previews(api: Api, count: int = 3, caller: str = ALICE, schedule: dict[str, Any] | None = None) -> list[Answer]:
    body = {"schedule": schedule or {"cron": "0 3 * * *"}}
    return [api.call("POST", "/v1/schedules/preview", body, caller=caller) for _ in range(count)]


def test_a_preview_counts_at_the_pace_of_creates_and_not_as_a_job_of_the_day() -> None:
    api = Api(api_environments=1)
    capped(api, createsPerSecond=1, jobsPerDay=1)
    answers = previews(api)
    assert [answer.status for answer in answers] == [200, 200, 429]
    refused_for_now(api, answers[2], 2)
    assert api.create().status == 429
    api.clockwork.clock.at += 3_000
    assert api.create().status == 201
    api.clockwork.clock.at += 3_000
    assert [answer.status for answer in previews(api, 1)] == [200]


def test_a_preview_that_is_refused_has_cost_its_work_too() -> None:
    api = Api(api_environments=1)
    capped(api, createsPerSecond=1)
    excluding = {"cron": "* * * * *", "exclude": ["* * * * *"]}
    assert [answer.status for answer in previews(api, schedule=excluding)] == [422, 422, 429]


def test_a_preview_is_paid_by_one_client_of_the_caller_that_has_room() -> None:
    api = Api(api_environments=1)
    capped(api, createsPerSecond=1)
    second = {"principals": [ALICE], "createsPerSecond": 0.5}
    assert api.call("PUT", "/v1/clients/second", second, caller=ADMIN).status == 200
    answers = previews(api, 6)
    assert [answer.status for answer in answers] == [200, 200, 200, 429, 429, 429]
    assert answers[3].headers["Retry-After"] == "1"
    # Neither another client's caller nor an admin has to wait for that.
    assert [answer.status for answer in previews(api, 9, BOB) + previews(api, 9, ADMIN)] == [200] * 18
