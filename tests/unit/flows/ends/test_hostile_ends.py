"""Ends that a tenant of the same state machine makes up, and what an end may say in a log."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest

from clockwork.domain.executions import State
from clockwork.domain.policies import Completion
from clockwork.flows.requests.create import create_jobs
from clockwork.flows.timeline.shards import ensure_shards
from clockwork.targets.message import Payload
from clockwork.targets.step_functions import StepFunctionsTarget
from tests.support.examples import new_job, request
from tests.unit.flows.ends.test_ends import LASTS_S, MACHINE, Story

SECRET = "hunter2-in-a-cause"


@pytest.mark.parametrize("status", ["SUCCEEDED", "FAILED", "ABORTED"])
def test_a_bare_payload_that_names_the_execution_of_another_ends_neither(status: str) -> None:
    victim = Story()
    payload = Payload(json.dumps({"executionId": victim.execution_id}).encode())
    target = StepFunctionsTarget(MACHINE, envelope=False)
    completion = Completion("end", timeout_seconds=LASTS_S)
    world = victim.clockwork.world
    job = new_job(delay_ms=1_000, target=target, completion=completion, payload=payload)
    (made,) = create_jobs(world, request(job), ensure_shards(world))
    victim.goes_on(5)
    delivered = victim.clockwork.targets.delivered[-1]
    assert delivered.job_id == made.job_id
    entry = target.entry(delivered.message)
    assert json.loads(entry["input"]) == {"executionId": victim.execution_id}
    told = victim.event(
        status,
        executionArn=f"{MACHINE.replace('stateMachine', 'execution')}:{entry['name']}",
        name=entry["name"],
        input=entry["input"],
    )
    assert victim.tell(told) == (0, 1, [])
    assert victim.record.state is State.RUNNING
    assert victim.record.end.report is None


@pytest.mark.parametrize(
    "more",
    [
        {"status": "FAILED", "error": SECRET, "cause": SECRET},
        {"status": "SUCCEEDED", "output": json.dumps({"password": SECRET})},
        {"status": "SUCCEEDED", "output": SECRET},
        {"status": "FAILED", "cause": [SECRET]},
        {"status": SECRET},
        {"input": SECRET},
        {"input": '{"executionId":"' + SECRET + '"}'},
    ],
)
def test_no_word_of_an_end_is_logged(more: dict[str, Any], caplog: pytest.LogCaptureFixture) -> None:
    story = Story()
    with caplog.at_level(logging.DEBUG):
        story.tell(story.event(**more))
        story.goes_on(60)
    assert SECRET not in caplog.text
    assert SECRET not in "".join(str(vars(one)) for one in caplog.records)


def test_a_store_without_an_answer_tells_no_word_of_an_end_either(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    story = Story()

    def fails(*_: Any) -> None:
        raise RuntimeError("no answer")

    monkeypatch.setattr(story.clockwork.executions, "find", fails)
    with caplog.at_level(logging.DEBUG):
        assert story.tell(story.event(status="FAILED", cause=SECRET))[2]
    assert any(getattr(one, "action", "") == "end_not_recorded" for one in caplog.records)
    assert SECRET not in "".join(str(vars(one)) for one in caplog.records)
