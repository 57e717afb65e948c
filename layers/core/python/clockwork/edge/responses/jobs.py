"""The bodies of answers about anonymous jobs, and of answers that may be about either kind of job."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal, Self

from msgspec import Meta

from clockwork.domain import executions
from clockwork.domain.executions import State
from clockwork.domain.ids import NamedJobId
from clockwork.domain.instants import to_text
from clockwork.domain.named_jobs import NamedJob
from clockwork.edge.http.answer import AnswerBody, Instant, either_of, instant
from clockwork.edge.responses.executions import Execution
from clockwork.edge.responses.named_jobs import ShownNamedJob
from clockwork.edge.responses.targets import (
    Record,
    ShownCompletion,
    ShownJobTarget,
    ShownPrecision,
    ShownRetryPolicy,
    ShownTarget,
    delivery,
    shown_payload,
)
from clockwork.flows.requests.read import JobView


class ShownSchedule(AnswerBody):
    """When the job is due."""

    at: Instant


class AnonymousJob(AnswerBody):
    """An anonymous job and where it stands."""

    job_id: str
    client_id: str
    #: A text. Its type is left open, since msgspec would state it beside the choice of two enumerations.
    state: Annotated[Any, either_of(["SCHEDULED", "RELEASED"], list(State))]
    due_at: Instant
    created_at: Instant
    schedule: ShownSchedule
    target: ShownJobTarget
    payload: Any
    retry_policy: ShownRetryPolicy
    record: Record
    tags: dict[str, str]
    relevancy_window_seconds: float | None = None
    precision: ShownPrecision = "millisecond"
    ordering_key: str | None = None
    sequence: int | None = None
    on_failure: ShownTarget | None = None
    completion: ShownCompletion | None = None
    last_execution: Execution | None = None
    not_recorded: Annotated[
        bool | None,
        Meta(description="of the record level none, before a first failure: nothing tells whether it was delivered"),
    ] = None
    released_until: Annotated[
        Instant | None, Meta(description="all that is due in its shard by then is released, and starts at its instant")
    ] = None
    as_of: Annotated[Instant | None, Meta(description="when that was so")] = None

    @classmethod
    def of(cls, view: JobView, released: tuple[int | None, int]) -> Self:
        """The job with its execution, once it has one.

        `released`: until when (ms) its shard has released all, as of an instant (ms).
        """
        occurrence = view.job.occurrence
        until, as_of = released if view.last_execution is None else (None, 0)
        return cls.like(
            view,
            view.job,
            occurrence,
            schedule=ShownSchedule(to_text(occurrence.due_at)),
            payload=shown_payload(occurrence.payload),
            last_execution=view.last_execution and Execution.of(view.last_execution),
            not_recorded=True if view.state == "RELEASED" and occurrence.record == "none" else None,
            released_until=instant(until),
            as_of=instant(until and as_of),
            **delivery(occurrence),
        )


class FormerJob(AnswerBody):
    """A deleted job whose key another job has by now. Nothing is left of it but its executions."""

    job_id: str
    client_id: str
    job_key: str
    state: Literal["CANCELLED"]
    reason: str
    replaced_by: Annotated[str, Meta(description="the jobId under which its key was used again last")]
    last_execution: Execution | None = None

    @classmethod
    def of(cls, job_id: str, job_ref: NamedJobId, successor: NamedJob, newest: Sequence[executions.Execution]) -> Self:
        """The facts that are left of it, with the newest of its executions."""
        return cls(
            job_id,
            job_ref.client_id,
            job_ref.job_key,
            "CANCELLED",
            "it was deleted, and its key was used again",
            successor.job_id,
            Execution.of(newest[0]) if newest else None,
        )


class Job:
    """A job and where it stands."""

    either = (AnonymousJob, ShownNamedJob, FormerJob)
