"""The bodies of answers about named jobs, as the API's description has them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, RootModel

from clockwork.edge.http.checks import EdgeModel
from clockwork.edge.requests.schedules import ScheduleBody
from clockwork.edge.responses.answers import AnonymousJob, Execution, Instant, NamedState, ShownRetryPolicy, WrittenJob
from clockwork.edge.responses.targets import ShownTarget


class NextFire(EdgeModel):
    """A fire to come, in UTC and in the local time of the schedule's zone with its offset."""

    at: Instant
    local: Annotated[str, Field(examples=["2026-05-05T12:00:00.250+02:00"])]


class JobSummary(EdgeModel):
    """A named job as a list shows it."""

    job_id: str
    client_id: str
    job_key: str
    state: NamedState
    reason: str | None = None
    revision: int
    created_at: Instant
    changed_at: Instant
    due_at: Instant | None = None
    next_fire_at: Instant | None = None
    schedule: ScheduleBody = Field(description="as it was sent")
    description: str | None = Field(None, description="the cron expression in a sentence")
    target: ShownTarget
    retry_policy: ShownRetryPolicy
    relevancy_window_seconds: float | None = None
    ordering_key: str | None = None
    sequence: int | None = None
    on_failure: ShownTarget | None = None
    record: Literal["none", "full"]
    tags: dict[str, str]


class ShownNamedJob(JobSummary):
    """A named job whole."""

    payload: Any
    next_fires: list[NextFire]
    last_execution: Execution | None = None


class JobPage(EdgeModel):
    """In the order of their keys. No `nextToken`: this is the last page; with one, a page may be short."""

    items: list[JobSummary]
    next_token: str | None = None


class ReleasedFire(EdgeModel):
    """A fire that is on its way already."""

    execution_id: str
    due_at: Instant


class ChangedJob(WrittenJob):
    """A named job after a change."""

    executions: list[Execution] = Field(description="under way from before the change; nothing else of that starts")
    released: list[ReleasedFire] = Field(
        description="of the job as it now stands, on their way already; the first 1,000 of them"
    )
    released_count: int


class StartedRun(EdgeModel):
    """An execution that was asked for by hand."""

    execution_id: str


class StartedBackfill(EdgeModel):
    """A backfill and the number of its executions."""

    backfill_id: str
    count: int


class Preview(EdgeModel):
    """When a schedule would fire."""

    next_fires: list[NextFire]
    description: str


class Job(RootModel[AnonymousJob | ShownNamedJob]):
    """A job and where it stands."""
