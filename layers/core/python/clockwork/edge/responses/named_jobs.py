"""The bodies of answers about named jobs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated, Any, Self

from msgspec import Meta

from clockwork.domain import executions
from clockwork.domain.fires.words import in_words
from clockwork.domain.instants import to_text
from clockwork.domain.lifecycle.cancels import Verdict
from clockwork.domain.named_jobs import JobState, NamedJob
from clockwork.domain.recurrence import Work
from clockwork.edge.http.answer import AnswerBody, Instant, instant, one_of
from clockwork.edge.responses import targets
from clockwork.edge.responses.created import NamedState, WrittenJob
from clockwork.edge.responses.executions import Cancellation, Execution, Outcomes, Ran
from clockwork.edge.responses.fires import (
    LISTED_WORK,
    REAL,
    SHOWN_WORK,
    Foreseen,
    NextFire,
    next_fires_of,
    state_and_next,
)
from clockwork.edge.responses.targets import (
    Record,
    ShownCompletion,
    ShownJobTarget,
    ShownPrecision,
    ShownRetryPolicy,
    ShownTarget,
)
from clockwork.flows.named.write import Written
from clockwork.flows.requests.cancel import CancelAnswer

#: How many executions of a kind the answer to a change lists. They may be a day's fires.
SHOWN = 100


class ReleasedFire(AnswerBody):
    """A fire that is on its way already."""

    execution_id: str
    due_at: Instant


class ChangedJob(WrittenJob, kw_only=True):
    """A named job after a change, and what became of its executions: each list holds the first 100."""

    changed: Annotated[bool, Meta(description="false: the job was as asked for already, and nothing was written")]
    executions: Annotated[list[Execution], Meta(description="running: an attempt is under way, or may start")]
    executions_count: int
    goes_on: Annotated[list[Execution], Meta(description="they wait, and go on by the job as it now stands")]
    goes_on_count: int
    ended: Annotated[list[Execution], Meta(description="they waited, and this call ended them")]
    ended_count: int
    released: Annotated[list[ReleasedFire], Meta(description="on their way already, by this call")]
    released_count: int

    @classmethod
    def after(cls, change: Written, now: int, foreseen: Foreseen = REAL) -> Self:
        """The job after a change, with its executions that may still reach the target."""
        under_way = change.under_way
        return cls.of(
            change.job,
            now,
            foreseen,
            changed=change.is_changed,
            executions=[Execution.of(record) for record in under_way.running[:SHOWN]],
            executions_count=len(under_way.running),
            goes_on=[Execution.of(record) for record in under_way.waiting[:SHOWN]],
            goes_on_count=len(under_way.waiting),
            ended=[Execution.of(record) for record in under_way.ended[:SHOWN]],
            ended_count=len(under_way.ended),
            released=[ReleasedFire(one.execution_id, to_text(one.run_at)) for one in change.released[:SHOWN]],
            released_count=len(change.released),
        )


class JobSummary(AnswerBody):
    """A named job as a list shows it."""

    job_id: str
    client_id: str
    job_key: str
    state: NamedState
    revision: int
    created_at: Instant
    changed_at: Instant
    schedule: Annotated[
        Any, Meta(description="as it was sent", extra_json_schema={"$ref": "#/components/schemas/ScheduleBody"})
    ]
    target: ShownJobTarget
    retry_policy: ShownRetryPolicy
    record: Record
    tags: dict[str, str]
    relevancy_window_seconds: float | None = None
    precision: ShownPrecision = "millisecond"
    ordering_key: str | None = None
    sequence: int | None = None
    on_failure: ShownTarget | None = None
    completion: ShownCompletion | None = None
    reason: str | None = None
    paused_at: Annotated[Instant | None, Meta(description="while it is paused")] = None
    paused_by: Annotated[
        str | None,
        Meta(description="while it is paused: the principal who did so, or gave its present reason"),
    ] = None
    due_at: Instant | None = None
    next_fire_at: Instant | None = None
    description: Annotated[str | None, Meta(description="the schedule in a sentence")] = None
    runs: Annotated[list[Ran] | None, Meta(description="newest first; left out if a page had to read too much")] = None
    last_state: Annotated[
        str | None,
        one_of(executions.State),
        Meta(description="of the newest execution of a job that fires once and is COMPLETED; left out as `runs` are"),
    ] = None

    @classmethod
    def of(cls, job: NamedJob, now: int, work: Work | None = None, **more: object) -> Self:
        """The job with its next fire, found by as much `work` as one of a list may cost if none is given."""
        state, next_fire_at = state_and_next(job, now, work or Work(LISTED_WORK))
        definition = job.definition
        return cls.like(
            job,
            definition,
            state=state,
            schedule=json.loads(job.as_sent)["schedule"],
            record="full",
            paused_at=instant(job.paused_at if state is JobState.PAUSED else None),
            due_at=instant(definition.at),
            next_fire_at=instant(next_fire_at),
            description=in_words(definition.recurrence),
            **targets.delivery(definition),
            **{"runs": None, "last_state": None, **more},
        )


class JobPage(AnswerBody):
    """In the order of their keys. No `nextToken`: this is the last page; with one, a page may be short."""

    items: list[JobSummary]
    jobs_read: Annotated[int, Meta(description="named jobs that this page looked at")]
    unreadable: Annotated[list[str] | None, Meta(description="jobKeys of jobs that this version cannot read")] = None
    next_token: str | None = None


class ShownNamedJob(JobSummary, kw_only=True):
    """A named job whole."""

    payload: Any
    next_fires: list[NextFire]
    last_execution: Execution | None = None
    outcomes: Annotated[Outcomes | None, Meta(description="once it is COMPLETED")] = None
    released_until: Annotated[
        Instant | None, Meta(description="all that is due in its shard by then is released, and starts at its instant")
    ] = None
    as_of: Annotated[Instant | None, Meta(description="when that was so")] = None

    @classmethod
    def whole(
        cls,
        job: NamedJob,
        newest: Sequence[executions.Execution],
        outcomes: Outcomes | None,
        now: int,
        released: tuple[int | None, int] = (None, 0),
    ) -> Self:
        """The job with its next fires, and the newest of its executions.

        `released`: until when (ms) its shard has released all, as of an instant (ms).
        """
        work = Work(SHOWN_WORK)
        fires = next_fires_of(job, now, work)
        return cls.of(
            job,
            now,
            work,
            payload=targets.shown_payload(job.definition.payload),
            next_fires=fires,
            last_execution=Execution.of(newest[0]) if newest else None,
            last_state=str(newest[0].state) if newest and outcomes and job.definition.recurrence is None else None,
            outcomes=outcomes,
            released_until=instant(released[0]),
            as_of=instant(released[0] and released[1]),
        )


class StartedRun(AnswerBody):
    """An execution that was asked for by hand."""

    execution_id: str


class StartedBackfill(AnswerBody):
    """A backfill and the number of its executions."""

    backfill_id: str
    count: int
    reason: Annotated[str | None, Meta(description="why there is none to execute")] = None


def deletion(answer: Written, foreseen: Foreseen = REAL) -> Cancellation:
    """The answer to a deletion of a named job: whether anything of it may still be delivered."""
    if answer.running:
        others = "others may be" if answer.may_be_under_way else "nothing else starts"
        count = len(answer.running)
        listed = "what is listed is" if count <= SHOWN else f"{count} executions, of which {SHOWN} are listed, are"
        verdict, reason = Verdict.RUNNING, f"{listed} under way; {others}"
    elif answer.may_be_under_way:
        unseen = "of its many thousand executions not all are read yet; a repeat reads on"
        verdict, reason = Verdict.TOO_LATE, f"nothing more fires, but something may be under way: {unseen}"
    else:
        verdict, reason = Verdict.CANCELLED, "nothing of it starts any more"
    told = Cancellation.of(answer.job.job_id, CancelAnswer(verdict, reason, answer.running[:SHOWN]))
    ended = answer.under_way.ended
    return Cancellation.like(
        foreseen,
        told,
        executions_count=len(answer.running),
        ended=[Execution.of(record) for record in ended[:SHOWN]],
        ended_count=len(ended),
    )
