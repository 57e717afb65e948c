"""The bodies of answers about the executions that somebody may want to look at, and about the dead."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Self, get_args

from msgspec import Meta

from clockwork.domain import executions
from clockwork.domain.executions import State
from clockwork.domain.ids import key_of
from clockwork.domain.instants import to_text
from clockwork.domain.storage.attention import Kind
from clockwork.edge.http.answer import AnswerBody, Instant, instant, one_of
from clockwork.edge.responses.executions import Execution


class AttentionItem(AnswerBody, kw_only=True):
    """One execution that is dead, or that has failed and is tried again."""

    kind: Annotated[str, one_of(get_args(Kind))]
    execution_id: str
    job_id: str
    job_key: str | None = None
    due_at: Instant
    state: Annotated[str, one_of(State)]
    attempts: Annotated[int, Meta(description="how many were made, with the one under way")]
    last_error: str | None = None
    reason: str | None = None
    next_attempt_at: Annotated[Instant | None, Meta(description="of one that is tried again and waits")] = None

    @classmethod
    def of(cls, record: executions.Execution, kind: Kind) -> Self:
        """The execution as it is listed."""
        last = record.attempts[-1] if record.attempts else None
        return cls.like(
            record,
            kind=kind,
            job_key=key_of(record.job_id),
            attempts=record.attempt,
            last_error=None if last is None else last.error,
            next_attempt_at=instant(record.waits.next_attempt_at) if kind == "retrying" else None,
            due_at=to_text(record.due_at),
        )


class AttentionGroup(AnswerBody, kw_only=True):
    """The executions of a page that have one cause: those of a job, or of jobs without a key, with one last error."""

    kind: Annotated[str, one_of(get_args(Kind))]
    job_id: Annotated[str | None, Meta(description="left out for jobs without a key")] = None
    job_key: str | None = None
    cause: Annotated[str | None, Meta(description="the reason of the death, or the last error")] = None
    count: int
    first_due_at: Instant
    last_due_at: Instant
    execution_id: Annotated[str, Meta(description="the one that was due last")]


class AttentionPage(AnswerBody):
    """Those that are dead first, and of each kind those that were due last first. With a `nextToken` there are more."""

    items: list[AttentionItem]
    groups: Annotated[list[AttentionGroup], Meta(description="of the items of this page, the largest first")]
    executions_read: Annotated[int, Meta(description="executions that this page looked at")]
    next_token: str | None = None


class DeadPage(AnswerBody):
    """Those that were due last first. No `nextToken`: this is the last page; with one, a page may be short."""

    items: list[Execution]
    executions_read: Annotated[int, Meta(description="executions that this page looked at")]
    next_token: str | None = None


class HandledDead(AnswerBody):
    """How many of the executions looked at were meant, and how many of these were changed by this call.

    With a `nextToken` there may be more: the same call with it goes on.
    """

    matched: int
    changed: int
    next_token: str | None = None


def groups_of(items: Sequence[AttentionItem]) -> list[AttentionGroup]:
    """The groups of a page, the largest first."""
    by: dict[tuple[str, str | None, str | None], list[AttentionItem]] = {}
    for one in items:
        cause = (one.reason if one.kind == "dead" else None) or one.last_error
        by.setdefault((one.kind, one.job_id if one.job_key else None, cause), []).append(one)
    found = [
        AttentionGroup(
            kind=kind,
            job_id=job_id,
            job_key=them[0].job_key,
            cause=cause,
            count=len(them),
            first_due_at=min(one.due_at for one in them),
            last_due_at=max(one.due_at for one in them),
            execution_id=max(them, key=lambda one: one.due_at).execution_id,
        )
        for (kind, job_id, cause), them in by.items()
    ]
    return sorted(found, key=lambda one: -one.count)
