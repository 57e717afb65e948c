"""The bodies of answers about many named jobs."""

from __future__ import annotations

from collections import Counter
from typing import Annotated, Self

from msgspec import Meta

from clockwork.domain.named_jobs import JobState
from clockwork.edge.http.answer import AnswerBody, one_of
from clockwork.flows.requests import bulk

#: How many tags are counted.
SHOWN_TAGS = 50


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


class InState(AnswerBody):
    """How many jobs are in a state."""

    state: Annotated[str, one_of(JobState)]
    count: int


class Tagged(AnswerBody):
    """How many jobs have a tag."""

    tag: Annotated[str, Meta(description="`name=value`")]
    count: int


class JobCounts(AnswerBody):
    """How many named jobs a client has. With `more`, there are others that were not read."""

    client_id: str
    count: int
    states: list[InState]
    tags: Annotated[list[Tagged], Meta(description="the fifty that most jobs have")]
    more: bool

    @classmethod
    def of(cls, client_id: str, states: Counter[str], tags: Counter[str], *, more: bool) -> Self:
        """These counts."""
        most = [Tagged(tag, count) for tag, count in tags.most_common(SHOWN_TAGS)]
        in_state = [InState(state, count) for state, count in states.most_common()]
        return cls(client_id, states.total(), in_state, most, more)
