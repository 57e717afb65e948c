"""The bodies of answers to requests that create jobs, and to the question whether the API is well.

A cold start of the api loads these alone; the first request of another kind loads the others.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from msgspec import Meta

from clockwork.domain.named_jobs import JobState, NamedJob
from clockwork.domain.recurrence import Work
from clockwork.edge.http.answer import AnswerBody, Instant, instant, one_of
from clockwork.edge.http.problems import Problem
from clockwork.edge.responses.fires import LISTED_WORK, REAL, Foreseen, state_and_next
from clockwork.flows.requests import create

NamedState = Annotated[str, one_of(JobState)]


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


class WrittenJob(Foreseen, kw_only=True):
    """A named job as it stands."""

    job_id: str
    client_id: str
    job_key: str
    state: NamedState
    revision: int
    due_at: Annotated[Instant | None, Meta(description="of a job that fires once")] = None
    next_fire_at: Instant | None = None

    @classmethod
    def of(cls, job: NamedJob, now: int, foreseen: Foreseen = REAL, **more: object) -> Self:
        """The job after a create or a change."""
        at = job.definition.at
        state, next_fire_at = state_and_next(job, now, Work(LISTED_WORK))
        next_fire_at = next_fire_at if at is None else None
        return cls.like(job, foreseen, state=state, due_at=instant(at), next_fire_at=instant(next_fire_at), **more)


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


class Created:
    """The accepted job: with a `revision` if it is named."""

    either = (CreatedJob, WrittenJob)


class Health(AnswerBody):
    """The API answers. `behind`: a shard has not moved for two minutes. `unknown`: where shards stand was not told."""

    status: Literal["ok", "behind", "unknown"]
