"""Workers on the local stack: killed in the middle of their work, stopped beyond their lease, and without an api."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from local.demo.screen import Screen
from local.dev.running import Server
from local.dev.server import POOL, server
from tests.chaos.fleet import STEP_SECONDS, STEPS, Crew, play, until, wrong_steps

pytestmark = pytest.mark.nightly


@pytest.fixture(scope="module")
def ready() -> Iterator[Server]:
    with server(Screen()) as running:
        yield running


def test_nothing_is_lost_or_done_again_though_workers_are_killed_and_stopped_and_the_api_dies_while_they_claim(
    ready: Server, tmp_path: Path
) -> None:
    outcome = play(ready, tmp_path, Screen().say)
    assert outcome.wrong == []
    lost = {job for job, end in outcome.ended.items() if "WORKER_LOST" in end.attempts}
    assert len(outcome.torn) >= 2, "both workers were struck at work"
    assert outcome.torn <= lost


def node(name: str, steps: int, *after: str) -> dict[str, Any]:
    target = {"type": "pool", "pool": POOL, "handler": "work", "timeoutSeconds": 600}
    payload = {"name": name, "steps": steps, "seconds": STEP_SECONDS}
    return {"target": target, "after": list(after), "payload": payload}


def test_a_node_goes_on_with_another_worker_when_its_own_is_killed_and_the_sink_runs_once(
    ready: Server, tmp_path: Path
) -> None:
    crew = Crew(ready, tmp_path)
    nodes = {"work": node("work", STEPS), "beside": node("beside", 1), "sink": node("sink", 1, "work", "beside")}
    body = {"schedule": {"delaySeconds": 1}, "target": {"type": "workflow", "nodes": nodes}}
    created = crew.api.request("POST", "/v1/jobs", body)
    assert created.status == 201, created
    job_id = created.body["jobId"]
    with crew.worker() as killed:
        until(lambda: [one for one in crew.steps() if one.job == "work" and one.number >= 3], "a worker at work")
        killed.kill()
        with crew.worker() as other:
            until(lambda: crew.ended({job_id: "run"})["run"].state == "SUCCEEDED", "the end of the run")
    (run,) = crew.api.request("GET", f"/v1/jobs/{job_id}/executions").body["items"]
    found = crew.api.request("GET", f"/v1/executions/{run['executionId']}/nodes").body["items"]
    assert {one["name"]: (one["state"], one["attempt"]) for one in found} == {
        "work": ("SUCCEEDED", 2),
        "beside": ("SUCCEEDED", 1),
        "sink": ("SUCCEEDED", 1),
    }
    steps = crew.steps()
    assert list(wrong_steps([one for one in steps if one.job == "work"])) == []
    assert {one.process for one in steps if one.job == "work"} == {killed.pid, other.pid}
    assert [(one.number, one.process) for one in steps if one.job == "sink"] == [(1, other.pid)]
    crew.api.close()
