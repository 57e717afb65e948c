"""The bodies of answers about fires to come, of jobs and of schedules that are not saved."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from itertools import islice
from typing import Annotated, Self, get_args

from msgspec import Meta

from clockwork.domain.cron.zones import offset_at, zone_named
from clockwork.domain.fires.chains import fire_after, first_due_after
from clockwork.domain.fires.shifts import Shift, shift_at
from clockwork.domain.fires.words import in_words
from clockwork.domain.instants import to_text
from clockwork.domain.named_jobs import JobState, NamedJob
from clockwork.domain.recurrence import Fire, Recurrence, TooMuchWork, Work, next_occurrence
from clockwork.edge.http.answer import AnswerBody, Instant, one_of

#: How many next fires are shown with a job.
SHOWN_FIRES = 10
#: Work for the next fire of each of a thousand jobs; with an exclusion and `maxFires` it counts 600 days of fires.
LISTED_WORK = 10_000
#: Work for the next fires that are shown with one job.
SHOWN_WORK = 400_000
#: The last instant (ms) that can be written with four digits of a year. Later fires are not shown.
LAST_SHOWN_AT = 253_402_300_799_999


class NextFire(AnswerBody):
    """A fire to come, in UTC and in the local time of the schedule's zone with its offset."""

    at: Instant
    local: Annotated[str, Meta(examples=["2026-05-05T12:00:00.250+02:00"])]
    dst: Annotated[
        str | None,
        one_of(get_args(Shift)),
        Meta(description="a shift of the clock: its time is skipped that day (gap), or comes twice (overlap)"),
    ] = None

    @classmethod
    def all_of(cls, fires: Sequence[Fire], recurrence: Recurrence | None) -> list[Self]:
        """Each fire in the zone of its schedule."""
        zone = "UTC" if recurrence is None else recurrence.timezone
        return [
            cls(to_text(fire.due_at), _local(fire.due_at, zone), shift_at(recurrence, fire.base_at)) for fire in fires
        ]


class Foreseen(AnswerBody, kw_only=True):
    """The fields that only the answer to a dry run has. An id in such an answer may name nothing later."""

    dry_run: Annotated[bool | None, Meta(description="nothing was written: this is the answer as it would be")] = None
    timing_changes: Annotated[bool | None, Meta(description="of a dry run: whether it would fire otherwise")] = None
    next_fires: Annotated[list[NextFire] | None, Meta(description="of a dry run: the next fires, ten at most")] = None

    @classmethod
    def once(cls, at: int) -> Foreseen:
        """Of a dry run that would create a job which is due at one instant (ms)."""
        return cls(dry_run=True, timing_changes=True, next_fires=NextFire.all_of([Fire(at, at, 1)], None))


#: A request that is no dry run.
REAL = Foreseen()


class JobFire(NextFire, kw_only=True):
    """A fire to come of one job, which may have had others before."""

    jittered: Annotated[bool, Meta(description="`at` is later than the instant that the schedule names")]
    ordinal: Annotated[int | None, Meta(description="of a job with `maxFires`: which of them it is, from 1 on")] = None


class JobFires(AnswerBody):
    """The next fires of a job, of a paused one as if it were resumed now."""

    job_id: str
    items: list[JobFire]
    more: Annotated[bool, Meta(description="there may be others: ask again `from` the last of these")]

    @classmethod
    def of(cls, job: NamedJob, fires: Sequence[Fire], *, more: bool) -> Self:
        """These fires, each in the zone of the job's schedule."""
        recurrence = job.definition.recurrence
        shown = NextFire.all_of(fires, recurrence)
        # Without an end nobody counts how many fires came before.
        is_counted = recurrence is not None and recurrence.max_fires is not None
        items = [
            JobFire.like(one, jittered=fire.due_at != fire.base_at, ordinal=fire.ordinal if is_counted else None)
            for one, fire in zip(shown, fires, strict=True)
        ]
        return cls(job.job_id, items, more)


class Preview(AnswerBody):
    """When a schedule would fire."""

    next_fires: list[NextFire]
    description: str

    @classmethod
    def of(cls, recurrence: Recurrence | None, at: int, count: int, now: int, work: Work) -> Self:
        """The next `count` fires of a recurrence; without one, the one fire at `at` (ms). Raises TooMuchWork."""
        fires = [Fire(at, at, 1)] if recurrence is None else list(islice(_fires(recurrence, now, work), count))
        return cls(NextFire.all_of(fires, recurrence), in_words(recurrence))


def _fires(recurrence: Recurrence, now: int, work: Work) -> Iterator[Fire]:
    fire = next_occurrence(recurrence, now, 0, "", work)
    while fire is not None and fire.due_at <= LAST_SHOWN_AT:
        yield fire
        fire = next_occurrence(recurrence, fire.base_at, fire.ordinal, "", work)


def _local(at: int, zone: str) -> str:
    offset_at(zone, at // 1000)  # all code that reads zones refuses the same unknown ones
    local = datetime.fromtimestamp(at / 1000, UTC).astimezone(zone_named(zone))
    return local.isoformat(timespec="milliseconds")


def foreseen_of(before: NamedJob | None, after: NamedJob, now: int) -> Foreseen:
    """The view of a dry run on a job that would be made (`before` is None), changed or deleted."""
    is_retimed = before is None or before.state is not after.state or before.series != after.series
    return Foreseen(dry_run=True, timing_changes=is_retimed, next_fires=next_fires_of(after, now, Work(SHOWN_WORK)))


def next_fires_of(job: NamedJob, now: int, work: Work) -> list[NextFire]:
    """The next fires of a job, as far as the work suffices."""
    fires = list[Fire]()
    with suppress(TooMuchWork):
        fires.extend(islice(upcoming(job, now, work), SHOWN_FIRES))
    return NextFire.all_of(fires, job.definition.recurrence)


def state_of(job: NamedJob, now: int) -> JobState:
    """The state of a job as it is shown: COMPLETED once no fire is to come.

    A job whose next fire takes too much work to find is taken to have one.
    """
    return state_and_next(job, now, Work(LISTED_WORK))[0]


def state_and_next(job: NamedJob, now: int, work: Work) -> tuple[JobState, int | None]:
    """The state of a job as it is shown, and its next fire after `now`, in ms, as far as the work suffices."""
    try:
        fire = next(upcoming(job, now, work), None)
    except TooMuchWork:
        return job.state, None
    is_over = fire is None and job.state is JobState.ACTIVE
    return JobState.COMPLETED if is_over else job.state, None if fire is None else fire.due_at


def next_due_of(job: NamedJob, now: int) -> int | None:
    """The instant (ms) of the job's next fire after `now`; None without one, or if that takes too much work."""
    return state_and_next(job, now, Work(LISTED_WORK))[1]


def upcoming(job: NamedJob, now: int, work: Work) -> Iterator[Fire]:
    """The job's fires after `now` (ms), of a paused job as if it were resumed now. Raises TooMuchWork.

    A paused job that fires once fires at its resume, also if it was due in the pause. A deleted job has no fire.
    """
    recurrence = job.definition.recurrence
    if job.state is JobState.PAUSED and recurrence is None:
        fire, at = fire_after(job, job.chain_after_at, 0), job.paused_at
        if fire is not None and at is not None and at < fire.due_at <= now:
            yield fire
    fire = first_due_after(job, now, work) if job.is_alive else None
    while fire is not None and fire.due_at <= LAST_SHOWN_AT:
        yield fire
        fire = fire_after(job, fire.base_at, fire.ordinal, work)
