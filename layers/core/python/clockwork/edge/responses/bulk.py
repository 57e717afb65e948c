"""The bodies of answers about many named jobs."""

from __future__ import annotations

from typing import Annotated, Self

from msgspec import Meta

from clockwork.edge.http.answer import AnswerBody
from clockwork.flows.requests import bulk


class PassedJob(AnswerBody):
    """A job that was not changed."""

    job_id: str
    job_key: str
    reason: str


class HandledJobs(AnswerBody):
    """The result of one call. With a `nextToken` there may be more jobs."""

    matched: Annotated[int, Meta(description="jobs that the filter meant")]
    changed: Annotated[int, Meta(description="by this call; the others were as asked for, or were passed")]
    passed: Annotated[list[PassedJob] | None, Meta(description="not changed, and why")] = None
    unreadable: Annotated[
        list[str] | None, Meta(description="jobKeys, with the prefix, of jobs that this version cannot read")
    ] = None
    next_token: str | None = None

    @classmethod
    def of(cls, handled: bulk.Handled, next_token: str | None) -> Self:
        """The result of the flow."""
        passed = [PassedJob(one.job.job_id, one.job.job_key, one.reason) for one in handled.passed]
        return cls.like(
            handled, passed=passed or None, unreadable=list(handled.unreadable) or None, next_token=next_token
        )
