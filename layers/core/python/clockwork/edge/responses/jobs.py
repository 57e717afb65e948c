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
from clockwork.edge.http.answer import AnswerBody, Instant, either_of, one_of
from clockwork.edge.http.problems import Problem
from clockwork.edge.responses.executions import Execution
from clockwork.edge.responses.fires import REAL, Foreseen
from clockwork.edge.responses.named_jobs import ShownNamedJob, WrittenJob
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
from clockwork.flows.requests import create
from clockwork.flows.requests.read import JobView


class CreatedJob(Foreseen, kw_only=True):
    """An accepted job. RELEASED: it is due so soon that it is on its way already."""

    job_id: str
    client_id: str
    state: Annotated[str, one_of(["SCHEDULED", "RELEASED"])]
    due_at: Instant

    @classmethod
    def of(cls, job: create.CreatedJob, client_id: str, foreseen: Foreseen = REAL) -> Self:
        """The answer about a job that was accepted."""
        state = "RELEASED" if job.released else "SCHEDULED"
        return cls.like(job, foreseen, client_id=client_id, state=state)


class CreatedElement(CreatedJob):
    """An accepted anonymous job of a batch."""

    # The fields of the base class are keyword-only: msgspec writes them behind these two.
    index: int
    status: Literal[201]


class WrittenElement(WrittenJob):
    """A named job of a batch: created, or there already with the same definition."""

    index: int
    status: Literal[200, 201]


class RefusedElement(AnswerBody):
    """A refused job of a batch. The pointers of its problem start at the batch's body."""

    index: int
    status: Literal[409, 422, 500]
    problem: Problem


Element = CreatedElement | WrittenElement | RefusedElement


class CreatedBatch(AnswerBody):
    """One result for each job of the batch, in their order."""

    #: Each is an `Element`. msgspec cannot describe a union of objects without tags, so `openapi` does.
    results: list[Any]


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

    @classmethod
    def of(cls, view: JobView) -> Self:
        """The job with its execution, once it has one."""
        occurrence = view.job.occurrence
        return cls.like(
            view,
            view.job,
            occurrence,
            schedule=ShownSchedule(to_text(occurrence.due_at)),
            payload=shown_payload(occurrence.payload),
            last_execution=view.last_execution and Execution.of(view.last_execution),
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


class Created:
    """The accepted job: with a `revision` if it is named."""

    either = (CreatedJob, WrittenJob)


class Job:
    """A job and where it stands."""

    either = (AnonymousJob, ShownNamedJob, FormerJob)


class Health(AnswerBody):
    """The API answers. `behind`: a shard has not moved for two minutes. `unknown`: where shards stand was not told."""

    status: Literal["ok", "behind", "unknown"]
