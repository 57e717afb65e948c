"""The bodies of answers, as the API's description has them. `views` writes them; nothing at run time reads this."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, RootModel

from clockwork.edge.http.checks import EdgeModel
from clockwork.edge.responses.targets import ShownTarget

Instant = Annotated[str, Field(json_schema_extra={"format": "date-time"}, examples=["2026-05-05T10:00:00.250Z"])]
ExecutionState = Literal[
    "PENDING",
    "RUNNING",
    "SUCCEEDED",
    "FAILED",
    "TIMED_OUT",
    "WORKER_LOST",
    "PARKED",
    "CANCELLED",
    "EXPIRED",
    "SKIPPED",
    "DEAD",
]
NamedState = Literal["ACTIVE", "PAUSED", "COMPLETED", "CANCELLED"]
JobState = Literal["SCHEDULED", "RELEASED"] | ExecutionState


class Fault(EdgeModel):
    """One fault of a request."""

    pointer: str = Field(description="RFC 6901, into the body; empty for the whole of it and for what is outside it")
    detail: str


class Problem(EdgeModel):
    """A problem document, RFC 9457."""

    type: Literal["about:blank"]
    title: str
    status: int
    detail: str
    errors: list[Fault] | None = Field(
        None, description="every fault of the request, at 422; where the definitions differ, at 409"
    )


class CreatedJob(EdgeModel):
    """An accepted job. RELEASED: it is due so soon that it is on its way already."""

    job_id: str
    client_id: str
    state: Literal["SCHEDULED", "RELEASED"]
    due_at: Instant


class WrittenJob(EdgeModel):
    """A named job as it stands."""

    job_id: str
    client_id: str
    job_key: str
    state: NamedState
    revision: int
    due_at: Instant | None = Field(None, description="of a job that fires once")
    next_fire_at: Instant | None = None


class CreatedElement(CreatedJob):
    """An accepted anonymous job of a batch."""

    index: int
    status: Literal[201]


class WrittenElement(WrittenJob):
    """A named job of a batch: created, or there already with the same definition."""

    index: int
    status: Literal[200, 201]


class RefusedElement(EdgeModel):
    """A refused job of a batch. The pointers of its problem start at the batch's body."""

    index: int
    status: Literal[409, 422]
    problem: Problem


class CreatedBatch(EdgeModel):
    """One result for each job of the batch, in their order."""

    results: list[CreatedElement | WrittenElement | RefusedElement]


class Attempt(EdgeModel):
    """One attempt at the target; the last one may be under way."""

    number: int
    state: Literal["RUNNING", "SUCCEEDED", "FAILED", "TIMED_OUT", "WORKER_LOST", "CANCELLED"]
    started_at: Instant
    ended_at: Instant | None = None
    lateness_ms: int | None = Field(None, description="from the instant at which it was to run")
    status_code: int | None = None
    error: str | None = None
    response_excerpt: str | None = Field(None, description="the start of the answer of a failed attempt")


class SkippedStretch(EdgeModel):
    """Fires that were not delivered, in one record: the first and the last due instant, and how many."""

    from_: Instant = Field(alias="from")
    to: Instant
    count: int


class Execution(EdgeModel):
    """One due instant of a job being carried out."""

    execution_id: str
    job_id: str
    due_at: Instant
    state: ExecutionState
    next_attempt_at: Instant | None = None
    reason: str | None = None
    skipped: SkippedStretch | None = None
    attempts: list[Attempt] = Field(description="the last 100 of them")


class CancelledExecution(Execution):
    """An execution after a cancel: `result` says whether it came in time, as for a job."""

    result: Literal["cancelled", "running", "too_late"]


class HandledDead(EdgeModel):
    """How many of the executions looked at were meant, and how many of these were changed by this call.

    With a `nextToken` there may be more: the same call with it goes on.
    """

    matched: int
    changed: int
    next_token: str | None = None


class ExecutionPage(EdgeModel):
    """Newest first. No `nextToken`: this is the last page."""

    items: list[Execution]
    next_token: str | None = None


class ShownSchedule(EdgeModel):
    """When the job is due."""

    at: Instant


class ShownRetryPolicy(EdgeModel):
    """When a failed attempt is tried again."""

    max_attempts: int
    backoff: str
    initial_seconds: float
    max_seconds: float
    jitter: str
    max_age_seconds: float
    retry_status_codes: list[int]


class AnonymousJob(EdgeModel):
    """An anonymous job and where it stands."""

    job_id: str
    client_id: str
    state: JobState
    due_at: Instant
    created_at: Instant
    schedule: ShownSchedule
    target: ShownTarget
    payload: Any
    retry_policy: ShownRetryPolicy
    relevancy_window_seconds: float | None = None
    ordering_key: str | None = None
    sequence: int | None = None
    on_failure: ShownTarget | None = None
    record: Literal["none", "full"]
    tags: dict[str, str]
    last_execution: Execution | None = None


class Cancellation(EdgeModel):
    """The truth about a cancel: cancelled: no attempt will start. running: one is under way, no other follows.

    too_late: it was delivered, or may be.
    """

    job_id: str
    result: Literal["cancelled", "running", "too_late"]
    reason: str
    executions: list[Execution] = Field(description="those that may still reach the target, or have")


class ShownClient(EdgeModel):
    """A client as an admin wrote it."""

    client_id: str
    state: Literal["ACTIVE", "PAUSED"]
    reason: str | None = Field(None, description="why it is paused")
    principals: list[str]
    record: Literal["none", "full"]
    signing_secrets: list[str]
    allowed_queue_arns: list[str]
    allowed_topics: list[str]
    allowed_private_targets: list[str]
    allowed_target_hosts: list[str]
    allowed_target_arns: list[str]
    retry_policy: ShownRetryPolicy | None = None
    relevancy_window_seconds: float | None = None
    max_rate_per_second: float | None = None
    max_concurrency: int | None = None
    creates_per_second: float | None = None
    jobs_per_day: int | None = None
    retention_days: int | None = None
    dead_letter_queue_arn: str | None = None


class Unparking(EdgeModel):
    """That parked occurrences will be let go."""

    client_id: str
    max_per_second: float


class Discarding(EdgeModel):
    """That parked occurrences will end undelivered."""

    client_id: str


class Health(EdgeModel):
    """The API answers."""

    status: Literal["ok"]


class Created(RootModel[CreatedJob | WrittenJob]):
    """The accepted job: with a `revision` if it is named."""
