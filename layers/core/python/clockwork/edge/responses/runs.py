"""The bodies of answers about runs of workflows and their nodes."""

from __future__ import annotations

from typing import Annotated, Self, get_args

from msgspec import Meta

from clockwork.domain.executions import State
from clockwork.domain.runs import views
from clockwork.domain.workflows.definition import When
from clockwork.edge.http.answer import AnswerBody, Instant, instant, one_of


class RunCounts(AnswerBody, kw_only=True):
    """The run of a workflow: how many of its nodes count as what."""

    generation: Annotated[int, Meta(description="one more with each redrive")]
    nodes: int
    succeeded: int
    failed: Annotated[int, Meta(description="those that were not reached among them, and no optional ones")]
    skipped: Annotated[int, Meta(description="optional ones that failed among them")]
    open: Annotated[int, Meta(description="they have not ended")]
    stopped: Annotated[str | None, one_of(["cancel", "timeout"]), Meta(description="why no further node starts")] = None


class NodeOfRun(AnswerBody):
    """The node of a workflow's run that an execution is."""

    name: str
    run: Annotated[str, Meta(description="the executionId of the run")]
    generation: Annotated[int, Meta(description="of the run, in which it started")]


class RunNode(AnswerBody, kw_only=True):
    """A node of a run. It is an execution once it is claimed."""

    name: str
    after: list[str]
    when: Annotated[str, one_of(get_args(When))]
    state: Annotated[
        str,
        one_of(views.STATES),
        Meta(description="WAITING: for its parents. RELEASED: on its way. UNREACHED: a parent failed"),
    ]
    generation: int
    because: Annotated[str | None, Meta(description="the parent that keeps it from running")] = None
    execution_id: str | None = None
    attempt: Annotated[int | None, Meta(description="the number of the last one")] = None
    started_at: Annotated[Instant | None, Meta(description="of its first attempt that is kept")] = None
    ended_at: Instant | None = None
    last_error: str | None = None
    has_result: Annotated[bool, Meta(description="GET of its execution shows it, as the report")] = False

    @classmethod
    def of(cls, view: views.NodeView) -> Self:
        """The node with the facts of its record, if it has one."""
        record = view.record
        if record is None:
            return cls.like(view, attempt=None, started_at=None, ended_at=None, last_error=None, has_result=False)
        first, last = (record.attempts[0], record.attempts[-1]) if record.attempts else (None, None)
        claimed_at = None if record.claim is None else record.claim.started_at
        has_failed = record.state is not State.SUCCEEDED
        return cls.like(
            view,
            attempt=record.attempt,
            started_at=instant(claimed_at if first is None else first.started_at),
            ended_at=instant(last.ended_at) if record.is_final and last is not None else None,
            last_error=(last and last.error) or record.reason if has_failed else None,
            has_result=record.end.report is not None and record.end.report.result is not None,
        )


class RunNodes(AnswerBody):
    """The nodes of a run in the order of its definition. None: it has not begun, or is no run of a workflow."""

    generation: int
    items: list[RunNode]
