"""Attempts that start tasks of ECS: their ends by events, by the watch, and by a stop."""

from __future__ import annotations

import json
from typing import Any

import pytest

from clockwork.domain.executions import State
from clockwork.targets.ecs import EcsTarget
from clockwork.targets.message import Errand
from tests.support.examples import failure
from tests.unit.flows.ends.test_ends import LASTS_S, Story

DEFINITION = "arn:aws:ecs:us-east-1:123456789012:task-definition/report"
CLUSTER = "arn:aws:ecs:us-east-1:123456789012:cluster/jobs"
TARGET = EcsTarget(DEFINITION, CLUSTER, "app")


class TaskStory(Story):
    """One job whose attempts start tasks."""

    def __init__(self, *outcomes: Any, **job: Any) -> None:
        super().__init__(*outcomes, target=TARGET, **job)

    def started_by(self, number: int = -1) -> str:
        return str(TARGET.entry(self.clockwork.targets.delivered[number].message)["startedBy"])

    def stopped(self, number: int = -1, exit_code: int | None = 0, **more: Any) -> str:
        """The event of the end of an attempt's task."""
        entry = TARGET.entry(self.clockwork.targets.delivered[number].message)
        app = {"name": "app"} if exit_code is None else {"name": "app", "exitCode": exit_code}
        detail = {
            "taskArn": "arn:aws:ecs:us-east-1:123456789012:task/jobs/1",
            "clusterArn": CLUSTER,
            "taskDefinitionArn": f"{DEFINITION}:7",
            "startedBy": entry["startedBy"],
            "overrides": entry["overrides"],
            "lastStatus": "STOPPED",
            "stopCode": "EssentialContainerExited",
            "stoppedReason": "Essential container in task exited",
            "containers": [app, {"name": "log", "exitCode": 137}],
            **more,
        }
        return json.dumps({"source": "aws.ecs", "detail-type": "ECS Task State Change", "detail": detail})


def test_an_attempt_runs_until_an_event_tells_that_its_task_has_stopped_and_keeps_its_exit_codes() -> None:
    story = TaskStory()
    assert story.record.state is State.RUNNING
    assert story.tell(story.stopped(), story.stopped()) == (1, 1, [])
    assert story.record.end.report is not None
    assert json.loads(story.record.end.report.result or b"") == {"exitCode": 0, "exitCodes": {"app": 0, "log": 137}}
    story.goes_on(LASTS_S + 100)
    assert (story.attempts, story.clockwork.queue.messages) == ([State.SUCCEEDED], {})


def test_another_exit_code_is_a_failure_and_its_retry_starts_a_task_of_another_name() -> None:
    story = TaskStory()
    assert story.tell(story.stopped(exit_code=3)) == (1, 0, [])
    story.goes_on(8)
    assert "app ended with the exit code 3: beside log 137" in str(story.record.attempts[0].error)
    assert story.started_by(0) != story.started_by(1)
    assert story.tell(story.stopped(number=0)) == (0, 1, []), "of an earlier attempt"
    assert story.tell(story.stopped()) == (1, 0, [])
    assert story.attempts == [State.FAILED, State.SUCCEEDED]


def test_an_attempt_that_may_have_started_nothing_leaves_its_name_to_the_next_one() -> None:
    story = TaskStory(failure())
    story.goes_on(8)
    assert (len(story.clockwork.targets.delivered), story.started_by(0)) == (2, story.started_by(1))


@pytest.mark.parametrize(
    "made_up",
    [
        {"startedBy": "clockwork-mine"},
        {"clusterArn": f"{CLUSTER}2"},
        {"taskDefinitionArn": f"{DEFINITION}s:7"},
        {"lastStatus": "DEPROVISIONING"},
        {"overrides": {}},
        {"overrides": {"containerOverrides": []}},
        {"overrides": {"containerOverrides": [{"name": "app"}]}},
        {"overrides": {"containerOverrides": [7]}},
        {"overrides": None},
        {"containers": None},
    ],
)
def test_an_event_that_is_made_up_or_names_nothing_changes_nothing(made_up: dict[str, Any]) -> None:
    story = TaskStory()
    assert story.tell(story.stopped(**made_up)) == (0, 1, [])
    assert story.record.state is State.RUNNING


def test_an_event_may_come_before_the_answer_to_the_start() -> None:
    told: list[Any] = []
    story = TaskStory(before_answer=lambda one: told.append(one.tell(one.stopped())))
    assert (told, story.attempts) == ([(1, 0, [])], [State.SUCCEEDED])


def test_an_image_that_cannot_be_pulled_is_a_failure() -> None:
    story = TaskStory()
    why: dict[str, Any] = {"stopCode": "TaskFailedToStart", "stoppedReason": "CannotPullContainerError: no such image"}
    assert story.tell(story.stopped(exit_code=None, **why)) == (1, 0, [])
    story.goes_on(1)
    assert story.attempts == [State.FAILED]
    assert "CannotPullContainerError" in str(story.record.attempts[0].error)


def test_a_task_that_never_starts_is_stopped_at_its_deadline() -> None:
    story = TaskStory()
    story.goes_on(LASTS_S)
    assert story.clockwork.targets.errands[-1].errand is Errand.STOP
    assert story.tell(story.stopped(exit_code=None, stopCode="UserInitiated")) == (1, 0, [])
    story.goes_on(1)
    assert story.attempts == [State.FAILED]


def test_a_cancel_stops_the_task_and_its_exit_code_is_no_success() -> None:
    story = TaskStory()
    story.cancel()
    story.goes_on(1)
    assert [one.errand for one in story.clockwork.targets.errands] == [Errand.STOP]
    assert story.tell(story.stopped(stopCode="UserInitiated")) == (1, 0, [])
    story.goes_on(1)
    assert (story.record.state, story.attempts) == (State.CANCELLED, [State.FAILED])


def test_a_task_that_ecs_has_forgotten_is_lost() -> None:
    story = TaskStory()
    story.answer = lambda _: story.told(State.WORKER_LOST, error="no such task")
    story.goes_on(130)
    assert story.attempts[:1] == [State.WORKER_LOST]
