"""The bodies of answers about executions and cancels."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Annotated, Any, Self, get_args

from msgspec import Meta, field

from clockwork.domain import executions
from clockwork.domain.executions import State
from clockwork.domain.ids import key_of
from clockwork.domain.instants import to_text
from clockwork.domain.lifecycle.awaiting import late_ms
from clockwork.domain.lifecycle.cancels import Verdict
from clockwork.domain.lifecycle.holding import Holding, Wait
from clockwork.edge.http.answer import AnswerBody, Instant, instant, one_of
from clockwork.edge.responses.fires import Foreseen
from clockwork.edge.responses.runs import NodeOfRun, RunCounts
from clockwork.flows.requests.cancel import CancelAnswer


class Attempt(AnswerBody):
    """One attempt at the target; the last one may be under way."""

    number: int
    state: Annotated[
        str, one_of(["RUNNING", "SUCCEEDED", "FAILED", "TIMED_OUT", "HANDED_BACK", "WORKER_LOST", "CANCELLED"])
    ]
    started_at: Instant
    ended_at: Instant | None = None
    lateness_ms: Annotated[
        int | None,
        Meta(description="of the first: from the due instant, or from its create, move or redrive if later"),
    ] = None
    status_code: int | None = None
    error: str | None = None
    response_excerpt: Annotated[str | None, Meta(description="the start of the answer of a failed attempt")] = None


class Waits(AnswerBody):
    """For how long an execution waited before its attempts, for each cause (ms)."""

    cap: Annotated[int, Meta(description="for the client's rate limit")] = 0
    permit: Annotated[int, Meta(description="for the concurrency limit, or for a share of the deployment's")] = 0
    pause: Annotated[int, Meta(description="until its job, or its client, was resumed")] = 0
    circuit: Annotated[int, Meta(description="until the circuit of its target let it through")] = 0
    ordered: Annotated[int, Meta(description="for the jobs ahead of it under its orderingKey")] = 0


class SkippedStretch(AnswerBody):
    """Fires that were not delivered, in one record: the first and the last due instant, and how many."""

    from_: Instant = field(name="from")
    to: Instant
    count: int


class Waiting(AnswerBody):
    """The cause of an execution's present wait."""

    cause: Annotated[str, one_of(get_args(Wait))]
    says: Annotated[str, Meta(description="the same in words")]
    until: Annotated[Instant | None, Meta(description="left out if nobody knows")] = None

    @classmethod
    def of(cls, holding: Holding) -> Self:
        """The cause of its wait."""
        return cls(holding.wait, holding.says, instant(holding.until))


class AtWork(AnswerBody, kw_only=True):
    """An attempt that ends by a report, of a receiver or of a worker, while it is under way."""

    attempt: int
    accepted_at: Annotated[Instant | None, Meta(description="left out before the target has answered")] = None
    lease_until: Annotated[Instant, Meta(description="without a sign of life its receiver is taken for lost then")]
    deadline_at: Annotated[Instant, Meta(description="the attempt ends then, heartbeats or not")]
    cancel_requested: Annotated[bool, Meta(description="a cancel was noted: no other attempt follows")] = False
    progress: float | None = None
    message: str | None = None
    pool: Annotated[str | None, Meta(description="whose worker has it")] = None
    worker_id: Annotated[str | None, Meta(description="as that worker names itself")] = None

    @classmethod
    def of(cls, record: executions.Execution) -> Self:
        """The attempt under way of a record that awaits a report."""
        assert record.claim is not None, "it runs under a claim"
        return cls.like(
            record.claim.awaited,
            attempt=record.attempt,
            lease_until=to_text(record.claim.until),
            cancel_requested=record.cancel_noted_at is not None,
        )


class Completion(AnswerBody, kw_only=True):
    """The result of an unsigned report. A caller with a token alone gets nothing more."""

    execution_id: str
    state: str
    lease_in_ms: Annotated[int | None, Meta(description="from the answer on: the claim ends then")] = None
    cancel_requested: Annotated[bool | None, Meta(description="a cancel was noted: stop, and say `cancelled`")] = None

    @classmethod
    def of(cls, record: executions.Execution, now: int) -> Self:
        """The answer about a record, at `now` (ms)."""
        until = None if record.claim is None else record.claim.until
        return cls(
            execution_id=record.execution_id,
            state=record.state,
            lease_in_ms=None if until is None else max(0, until - now),
            cancel_requested=None if until is None else record.cancel_noted_at is not None,
        )


class Report(AnswerBody):
    """The receiver's report on an attempt that ends by callback: its result, and its instant."""

    state: Annotated[str, one_of(["SUCCEEDED", "FAILED", "HANDED_BACK", "CANCELLED"])]
    at: Instant
    result: Any = None
    error: str | None = None

    @classmethod
    def of(cls, kept: executions.Report) -> Self:
        """The report that is kept in a record."""
        result = None if kept.result is None else json.loads(kept.result)
        return cls.like(kept, at=to_text(kept.at), result=result)


class Execution(AnswerBody):
    """One due instant of a job being carried out."""

    execution_id: str
    job_id: str
    due_at: Instant
    state: Annotated[str, one_of(State)]
    attempts: Annotated[list[Attempt], Meta(description="the last 100 of them")]
    job_key: Annotated[str | None, Meta(description="of a named job")] = None
    next_attempt_at: Instant | None = None
    reason: str | None = None
    waited: Waits | None = None
    skipped: SkippedStretch | None = None
    at_work: Annotated[AtWork | None, Meta(description="while its receiver is at work, which reports by callback")] = (
        None
    )
    forced: Annotated[
        bool, Meta(description="a cancel ended its last attempt, whose receiver did not stop in time")
    ] = False
    report: Annotated[
        Report | None, Meta(description="of its last attempt, as its receiver told it; where one execution is read")
    ] = None
    waiting: Annotated[
        Waiting | None, Meta(description="while it waits, where one execution is read: for what, and until when")
    ] = None
    run: Annotated[RunCounts | None, Meta(description="of a workflow that has begun, where one execution is read")] = (
        None
    )
    node: Annotated[NodeOfRun | None, Meta(description="of a workflow's run, where one execution is read")] = None

    @classmethod
    def of(cls, record: executions.Execution, **more: object) -> Self:
        """The execution of a record, with the attempt that is under way, if one is."""
        first = {1, record.budget.start + 1}
        attempts = [
            Attempt.like(attempt, lateness_ms=attempt.lateness_ms if attempt.number in first else None)
            for attempt in record.attempts
        ]
        if record.claim is not None:
            started_at, late = to_text(record.claim.started_at), late_ms(record)
            attempts.append(Attempt(record.attempt, State.RUNNING, started_at, lateness_ms=late))
        stretch = record.end.skipped
        skipped = stretch and SkippedStretch(to_text(stretch.from_at), to_text(stretch.to_at), stretch.count)
        waited = record.waits.waited and Waits.like(record.waits.waited)
        planned = {} if record.state is not State.PARKED else {"next_attempt_at": None}
        at_work = None if record.awaited is None or record.awaited.is_run else AtWork.of(record)
        shown = {
            "job_key": key_of(record.job_id),
            "waiting": None,
            "report": None,
            "run": None,
            "node": None,
            "at_work": at_work,
            "forced": record.is_forced,
            **planned,
            **more,
        }
        return cls.like(record, record.waits, **shown, attempts=attempts, skipped=skipped, waited=waited)

    @classmethod
    def whole(cls, record: executions.Execution, **more: object) -> Self:
        """The execution with the report of its receiver, which may be long."""
        return cls.of(record, report=record.end.report and Report.of(record.end.report), **more)


class Ran(AnswerBody):
    """One of the newest executions of a job, in short."""

    execution_id: str
    due_at: Instant
    state: Annotated[str, one_of(State)]
    attempts: Annotated[int, Meta(description="so far")]
    lateness_ms: Annotated[int | None, Meta(description="of the first attempt, once it has started")] = None
    took_ms: Annotated[int | None, Meta(description="of the last attempt, once it has ended")] = None
    reason: str | None = None

    @classmethod
    def of(cls, record: executions.Execution, **more: object) -> Self:
        """The execution of a record."""
        first, last = (record.attempts[0], record.attempts[-1]) if record.attempts else (None, None)
        late = first.lateness_ms if first is not None and first.number == 1 else None
        if first is None:
            late = late_ms(record)
        return cls(
            record.execution_id,
            to_text(record.due_at),
            str(record.state),
            record.attempt,
            lateness_ms=late,
            took_ms=None if last is None or record.claim is not None else last.ended_at - last.started_at,
            reason=record.reason,
            **more,
        )


class CancelledExecution(Execution, kw_only=True):
    """An execution after a cancel: `result` says whether it came in time, as for a job."""

    result: Annotated[str, one_of(Verdict)]
    executions: Annotated[
        list[Execution] | None, Meta(description="of the run of a workflow: itself, and its nodes that still run")
    ] = None


class ExecutionPage(AnswerBody):
    """Newest first. No `nextToken`: this is the last page."""

    items: list[Execution]
    next_token: str | None = None


class Cancellation(Foreseen):
    """The truth about a cancel: cancelled: no attempt will start. running: one is under way, no other follows.

    too_late: it was delivered, or may be.
    """

    job_id: str
    result: Annotated[str, one_of(Verdict)]
    reason: str
    executions: Annotated[list[Execution], Meta(description="those that may still reach the target, or have")]
    executions_count: Annotated[int | None, Meta(description="of a named job, which lists the first 100")] = None
    ended: Annotated[
        list[Execution] | None, Meta(description="of a named job: waiting ones that this ended, the first 100")
    ] = None
    ended_count: int | None = None

    @classmethod
    def of(cls, job_id: str, answer: CancelAnswer) -> Self:
        """The answer about this job."""
        return cls(job_id, answer.verdict, answer.reason, [Execution.of(record) for record in answer.executions])


class Outcomes(AnswerBody):
    """How the fires of a job that is over have ended, counted by its newest records that are kept."""

    succeeded: int
    dead: int
    skipped: Annotated[int, Meta(description="not wanted; a stretch that was skipped counts by its fires")]
    cancelled: int
    expired: int
    open: Annotated[int, Meta(description="not ended: they run, are tried again, or wait")]
    more: Annotated[bool, Meta(description="there are older records, which are not counted")]

    @classmethod
    def of(cls, records: Sequence[executions.Execution], *, more: bool) -> Self:
        """The counts of these records; `more`: there may be others."""
        fires: Counter[str] = Counter()
        for record in records:
            kind = record.state.value.lower() if record.is_final else "open"
            fires[kind] += 1 if record.end.skipped is None else record.end.skipped.count
        kinds = ("succeeded", "dead", "skipped", "cancelled", "expired", "open")
        return cls(**{kind: fires[kind] for kind in kinds}, more=more)
