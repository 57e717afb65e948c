"""The bodies of answers about many named jobs."""

from __future__ import annotations

from collections import Counter
from typing import Annotated, Self

import msgspec
from msgspec import Meta

from clockwork.domain.named_jobs import JobState
from clockwork.domain.requests import operations
from clockwork.edge.http.answer import AnswerBody, Instant, instant, one_of
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


class OperationFilter(AnswerBody):
    """The filter of an operation, with all that it has."""

    prefix: str | None = None
    tag: str | None = None
    from_: Annotated[Instant | None, Meta(description="dead executions due then or later")] = msgspec.field(
        default=None, name="from"
    )
    to: Annotated[Instant | None, Meta(description="dead executions due then or earlier")] = None
    paused_reason: str | None = None

    @classmethod
    def of(cls, meant: operations.Meant) -> Self:
        """The filter as it is kept."""
        return cls.like(meant, from_=instant(meant.from_at), to=instant(meant.to_at))


class PassedItem(AnswerBody):
    """An item that an operation did not change."""

    item: Annotated[str, Meta(description="a jobKey, or an executionId")]
    reason: str


class Operation(AnswerBody, kw_only=True):
    """An operation on many jobs or dead executions, and how far it is.

    Sweeps run it by calls of up to 100 items. The counts are those of calls that ended.
    """

    operation_id: str
    client_id: str
    kind: Annotated[str, one_of(operations.Kind)]
    filter: OperationFilter
    waiting: Annotated[str, one_of(("keep", "cancel"))] = "keep"
    reason: Annotated[str | None, Meta(description="as the caller gave it")] = None
    max_per_second: float
    state: Annotated[
        str, one_of(operations.Stage), Meta(description="STOPPING: a call that was under way may still end")
    ]
    made_at: Instant
    made_by: Annotated[str, Meta(description="the caller as Clockwork sees it")]
    stopped_by: str | None = None
    ended_at: Instant | None = None
    matched: Annotated[int, Meta(description="items that the filter meant")]
    changed: Annotated[int, Meta(description="items that were changed; the others were as asked for, or were passed")]
    passed: Annotated[int, Meta(description="items that cannot be changed")]
    passed_items: Annotated[list[PassedItem] | None, Meta(description="the first 20 of them, and why")] = None
    calls: int
    uncertain_calls: Annotated[
        int, Meta(description="calls that did not end: each may have changed up to 100 items that are not counted")
    ] = 0
    waits_until: Annotated[Instant | None, Meta(description="no call begins before")] = None
    fault: Annotated[str | None, Meta(description="why the last call changed nothing, or why it is over")] = None

    @classmethod
    def of(cls, kept: operations.Operation, now: int) -> Self:
        """The operation as it is kept, at this instant (ms)."""
        return cls.like(
            kept,
            filter=OperationFilter.of(kept.meant),
            waiting="cancel" if kept.cancels_waiting else "keep",
            state=str(kept.stage),
            passed=kept.passed_count,
            passed_items=[PassedItem(one.item, one.reason) for one in kept.passed] or None,
            uncertain_calls=kept.uncertain,
            waits_until=instant(kept.next_at) if kept.next_at > now and not kept.is_over else None,
        )


class OperationPage(AnswerBody):
    """The newest first. No `nextToken`: this is the last page."""

    items: list[Operation]
    unreadable: Annotated[int, Meta(description="operations of this page that this version cannot read")] = 0
    next_token: str | None = None
