"""Backfills over the API: a range of before the job was made, and why a range has nothing to execute."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from clockwork.domain.instants import to_text
from tests.handlers.handlers import Answer, Api
from tests.handlers.test_named_api import EVERY, job_id, run


def backfill(api: Api, path: str, from_s: float, to_s: float) -> Answer:
    """A backfill of a range in seconds from now."""
    now = api.clockwork.clock.at
    body = {"from": to_text(now + int(from_s * 1000)), "to": to_text(now + int(to_s * 1000)), "maxPerSecond": 100}
    return api.call("POST", f"/v1/jobs/{path}/backfill", body)


@pytest.mark.parametrize("more", [{}, {"maxFires": 3}, {"jitterSeconds": 4}])
def test_an_interval_counts_back_to_before_the_job_was_made(more: dict[str, Any]) -> None:
    api = Api()
    created_at = api.clockwork.clock.at
    path = job_id(api, schedule={**EVERY, **more})
    run(api, 25)
    answer = backfill(api, path, -60, -20)
    assert (answer.status, answer.body["count"]) == (202, 4)
    assert "reason" not in answer.body
    run(api, 3)
    mine = [d for d in api.clockwork.targets.delivered if d.execution_id.endswith(answer.body["backfillId"])]
    late = [(d.occurrence.due_at - created_at) for d in mine]
    assert [at // 10_000 for at in sorted(late)] == [-3, -2, -1, 0]
    assert more.get("jitterSeconds") or all(at % 10_000 == 0 for at in late)


@pytest.mark.parametrize(
    ("schedule", "reason"),
    [
        ({**EVERY, "startAt": "in 5 s"}, "its startAt lies behind the range"),
        ({"every": {"seconds": 86_400}}, "its schedule names no instant in the range"),
        ({"cron": "0 0 1 1 *"}, "its schedule names no instant in the range"),
        ({"delaySeconds": 500}, "the job fires once, at another instant"),
    ],
)
def test_a_range_without_a_fire_says_why(schedule: dict[str, Any], reason: str) -> None:
    api = Api()
    if "startAt" in schedule:
        schedule = {**schedule, "startAt": to_text(api.clockwork.clock.at + 5_000)}
    answer = backfill(api, job_id(api, schedule=schedule), -100, -10)
    assert (answer.status, answer.body["count"], answer.body["reason"]) == (202, 0, reason)


def test_a_range_that_begins_right_behind_the_last_fire_says_so() -> None:
    api = Api()
    spent = job_id(api, key="spent", schedule={**EVERY, "maxFires": 1})
    run(api, 60)
    (fire,) = api.call("GET", f"/v1/jobs/{spent}/executions").body["items"]
    last_at = int(datetime.fromisoformat(fire["dueAt"]).timestamp() * 1000)
    behind = {"from": to_text(last_at + 1), "to": to_text(last_at + 2)}
    answer = api.call("POST", f"/v1/jobs/{spent}/backfill", {**behind, "maxPerSecond": 1})
    assert answer.body["reason"] == "maxFires were over before the range"


def test_a_range_behind_the_end_of_a_schedule_says_why() -> None:
    api = Api()
    ended = job_id(api, schedule={**EVERY, "endAt": to_text(api.clockwork.clock.at + 15_000)})
    spent = job_id(api, key="spent", schedule={**EVERY, "maxFires": 1})
    run(api, 60)
    assert backfill(api, ended, -30, -1).body["reason"] == "its endAt lies before the range"
    assert backfill(api, spent, -30, -1).body["reason"] == "maxFires were over before the range"
