"""Changes of a named job's row: a new definition, a pause, a resume, a delete. Each has a boundary, an instant B.

Fires that are due at or before B go on, and fires that are due after B follow the new row. All changes end older
releases through closings alone.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from clockwork.domain import ids
from clockwork.domain.closings import EVER, NEVER_ENDS, Closing, with_closing
from clockwork.domain.cron.exclusion import Exclusion
from clockwork.domain.executions import State
from clockwork.domain.fires.chains import fire_after, fires_by, has_fire_at, last_fire
from clockwork.domain.fires.timings import Retiming, Timing, retiming
from clockwork.domain.named_jobs import Definition, JobState, NamedJob

#: The shard to which a definition belongs.
Home = Callable[[Definition], str]
#: A change of a job. It takes the job as it stands, the boundary (ms), and the shards to which definitions belong.
Change = Callable[[NamedJob, int, Home], NamedJob]


def with_series(job: NamedJob) -> NamedJob:
    """The job with a series of its own: a digest of all that decides its pointers, which begin with this row.

    It is a digest and not the revision alone: a caller that loses the write of the row has put its pointer before.
    """
    timing = Timing.of(job.definition).digest
    parts = (job.job_id, job.revision, timing, job.partition_id, job.chain_after_at, job.chain_ordinal)
    return msgspec.structs.replace(job, series=ids.derive("series", *parts))


def changed(job: NamedJob, boundary_at: int, now: int, change: Change, home: Home) -> NamedJob:
    """The row after a change, one revision on. `boundary_at` is the change's B (ms)."""
    known = msgspec.structs.replace(
        job,
        revision=job.revision + 1,
        changed_at=now,
        boundary_at=boundary_at,
        begun_at=job.begun_since,
    )
    return change(known, boundary_at, home)


def replaced(definition: Definition, as_sent: bytes) -> Change:
    """The change to another definition, or to a shard that is not given up."""

    def make(job: NamedJob, boundary_at: int, home: Home) -> NamedJob:
        after = _turned_to_skip(msgspec.structs.replace(job, definition=definition, as_sent=as_sent), job, boundary_at)
        kind, partition_id = retiming(job.definition, definition), home(definition)
        if kind is Retiming.SAME and partition_id == job.partition_id:
            return after
        after = msgspec.structs.replace(after, partition_id=partition_id, asked_at=boundary_at)
        # The fires of the same period that a pause holds back were asked for before.
        is_held_on = kind not in (Retiming.MOVE, Retiming.BEAT) and job.paused_at is not None
        after = after if is_held_on else msgspec.structs.replace(after, begun_at=boundary_at)
        if kind is Retiming.MOVE:
            return with_series(_moved(after))
        if kind is Retiming.BEAT:
            return with_series(_started_anew(job, after, boundary_at))
        return with_series(_bounded_anew(job, after, boundary_at))

    return make


def _turned_to_skip(after: NamedJob, before: NamedJob, boundary_at: int) -> NamedJob:
    """The job with the revision and boundary with which it became `overlap: skip`, if this change makes it so."""
    if after.definition.overlap != "skip" or before.definition.overlap == "skip":
        return after
    return msgspec.structs.replace(after, skips_from=after.revision, skips_from_at=boundary_at)


def _moved(after: NamedJob) -> NamedJob:
    """A job that fires once moves, with all that waits of it. In a pause it fires at the resume, if not later."""
    at = after.definition.at
    assert at is not None
    closing = Closing(after.revision, EVER, NEVER_ENDS, State.CANCELLED, f"moved by revision {after.revision}")
    return msgspec.structs.replace(
        after, closings=with_closing(after.closings, closing), chain_after_at=at - 1, paused_at=_held(after, at)
    )


def _held(after: NamedJob, at: int) -> int | None:
    """Behind which instant a pause holds fires back, if it is to hold back the one at `at`; None without a pause."""
    return None if after.paused_at is None else min(after.paused_at, at - 1)


def _started_anew(before: NamedJob, after: NamedJob, boundary_at: int) -> NamedJob:
    """Another period fires what is due after the boundary. Old fires that a pause held back are told as replaced."""
    held_from = boundary_at if before.paused_at is None else before.paused_at
    paused_at = None if before.paused_at is None else boundary_at
    after = _closed_behind(after, held_from, paused_at)
    at = after.definition.at
    if at is not None:
        return msgspec.structs.replace(after, chain_after_at=at - 1, chain_ordinal=0, paused_at=_held(after, at))
    began_at = _last_base(before, boundary_at)
    fresh = msgspec.structs.replace(after, chain_after_at=began_at, chain_ordinal=0)
    # A fire of the new period that lies before the boundary, and with its jitter behind it, is one of those to come.
    last = last_fire(_unbounded(fresh), boundary_at)
    fresh = fresh if last is None else msgspec.structs.replace(fresh, chain_after_at=last.base_at)
    first = fire_after(fresh, fresh.chain_after_at, 0)
    if first is not None and first.base_at <= boundary_at:
        return fresh
    # With other rules of its zone the period may have fires at instants that had none. Those before are not its own.
    return msgspec.structs.replace(fresh, chain_after_at=boundary_at)


def _bounded_anew(before: NamedJob, after: NamedJob, boundary_at: int) -> NamedJob:
    """The schedule goes on, behind the last base that was due; a pause goes on from where it began.

    By the new jitter a fire that the pause held back may be due before the pause. Then the pause begins before that
    fire, so that the fire is one of those about which the end of the pause decides.
    """
    divides_at = boundary_at if before.paused_at is None else before.paused_at
    after = _closed_behind(after, divides_at, before.paused_at)
    if before.definition.recurrence is None:
        # What was due goes on as it was released. Its record may expire sooner than that of a fire of this row would.
        return _going_on_behind(after, divides_at)
    base_at = _last_base(before, divides_at)
    after = msgspec.structs.replace(after, chain_after_at=base_at, chain_ordinal=fires_by(before, base_at))
    first = fire_after(after, after.chain_after_at, after.chain_ordinal)
    return after if first is None else msgspec.structs.replace(after, paused_at=_held(after, first.due_at))


def _closed_behind(after: NamedJob, divides_at: int, paused_at: int | None) -> NamedJob:
    reason = f"replaced by revision {after.revision}"
    closing = Closing(after.revision, divides_at, NEVER_ENDS, State.SKIPPED, reason)
    skips_until = 0 if after.skips_until <= divides_at else after.skips_until
    closings = with_closing(after.closings, closing)
    return msgspec.structs.replace(after, closings=closings, paused_at=paused_at, skips_until=skips_until)


def _last_base(job: NamedJob, at: int) -> int:
    """The last base instant (ms) of the job's period due at or before `at`, beyond the schedule's bounds too."""
    if job.definition.recurrence is None:
        return at
    last = last_fire(_unbounded(job), at)
    return job.chain_after_at if last is None else last.base_at


def _unbounded(job: NamedJob) -> NamedJob:
    recurrence = job.definition.recurrence
    assert recurrence is not None
    endless = msgspec.structs.replace(recurrence, start_at=None, end_at=None, max_fires=None, exclude=Exclusion())
    definition = msgspec.structs.replace(job.definition, recurrence=endless)
    return msgspec.structs.replace(job, definition=definition)


def paused(reason: str | None, *, cancels: bool = False, by: str | None = None) -> Change:
    """The change that pauses a job: what is due after the boundary does not start. `cancels`: nor does what waits.

    `by`: the principal who asks for it.
    """

    def make(job: NamedJob, boundary_at: int, _: Home) -> NamedJob:
        paused_at = job.paused_at
        if paused_at is not None:
            again = msgspec.structs.replace(job, reason=reason, paused_by=by)
            return _cancelling(again, paused_at) if cancels else again
        after = msgspec.structs.replace(job, state=JobState.PAUSED, reason=reason, paused_at=boundary_at, paused_by=by)
        return _cancelling(after, boundary_at) if cancels else after

    return make


def _cancelling(after: NamedJob, until_at: int) -> NamedJob:
    closing = Closing(after.revision, EVER, until_at + 1, State.CANCELLED, "its job was paused, with waiting: cancel")
    return msgspec.structs.replace(after, closings=with_closing(after.closings, closing))


def resumed(reason: str | None, *, cancels: bool = False) -> Change:
    """The change that ends a pause: `catchUp` decides now, once and for all, about what was due in it.

    `cancels`: what waits of the time before the pause does not start any more.
    """

    def make(job: NamedJob, boundary_at: int, home: Home) -> NamedJob:
        paused_at = job.paused_at
        if paused_at is None:
            return msgspec.structs.replace(job, reason=reason)
        until_at = skipped_until(job, paused_at, boundary_at)
        closings = job.closings
        if until_at > paused_at + 1:
            reason_why = f"missed in a pause: catchUp is {job.definition.catch_up}"
            closing = Closing(job.revision, paused_at, until_at, State.SKIPPED, reason_why)
            closings = with_closing(closings, closing)
        again = msgspec.structs.replace(
            job,
            state=JobState.ACTIVE,
            reason=reason,
            paused_at=None,
            paused_by=None,
            closings=closings,
            skips_until=until_at if until_at > paused_at + 1 else 0,
            asked_at=boundary_at,
        )
        again = _going_on_behind(again, paused_at)
        again = _cancelling(again, paused_at) if cancels else again
        # A pointer of before the pause would tell a repeat of this call that what the pause held back was released.
        return with_series(msgspec.structs.replace(again, partition_id=home(job.definition)))

    return make


def skipped_until(job: NamedJob, paused_at: int, resumed_at: int) -> int:
    """The instant F (ms) that divides what was due in a pause: before it nothing is delivered, from it on everything.

    It is fixed at the resume, so that poller, look, repair and repeat cannot decide differently about one fire.
    """
    definition = job.definition
    if definition.recurrence is None:
        return paused_at + 1
    in_window_at = max(paused_at + 1, resumed_at - int(definition.catch_up_window_seconds * 1000))
    if definition.catch_up == "all":
        return in_window_at
    last = last_fire(job, resumed_at) if definition.catch_up == "latest" else None
    return last.due_at if last is not None and last.due_at >= in_window_at else resumed_at + 1


def _going_on_behind(job: NamedJob, at: int) -> NamedJob:
    """The job with its chain behind the fires that were due at or before `at` (ms)."""
    if job.definition.recurrence is None:
        return msgspec.structs.replace(job, chain_after_at=max(job.chain_after_at, at))
    last = last_fire(job, at)
    if last is None:
        return job
    # The ordinal of a fire tells nothing without `maxFires`, which a later change may bring.
    return msgspec.structs.replace(job, chain_after_at=last.base_at, chain_ordinal=fires_by(job, last.base_at))


def cancelled(reason: str | None) -> Change:
    """The change that deletes a job. The row stays as a tombstone, so that the key used again is another job."""
    return lambda job, *_: msgspec.structs.replace(
        job, state=JobState.CANCELLED, reason=reason, paused_at=None, paused_by=None
    )


def has_cancelled_waiting(job: NamedJob) -> bool:
    """Whether the pause of a paused job ended what waited, too."""
    paused_at = job.paused_at
    return paused_at is not None and any(
        one.state is State.CANCELLED and one.after == EVER and one.before == paused_at + 1 for one in job.closings
    )


def catches_up(before: NamedJob, after: NamedJob) -> bool:
    """Whether what is due by the boundary is released under the row as it stands, before the change is written.

    Nobody else would release it: the pointers of a job that is paused, or has another timing, do not count.
    """
    if before.state is not JobState.ACTIVE or after.state is JobState.CANCELLED:
        return False
    return after.state is JobState.PAUSED or after.series != before.series


def begins_chain(before: NamedJob, after: NamedJob) -> bool:
    """Whether the row needs a pointer, put before it is written: its series is new, as it is after each pause."""
    return after.state is JobState.ACTIVE and after.series != before.series


def replaced_since(before: NamedJob, after: NamedJob) -> int | None:
    """Behind which instant (ms) a stretch has to tell what a pause held back of a schedule that the change replaces.

    None if there is nothing to tell.
    """
    return before.paused_at if retiming(before.definition, after.definition) is Retiming.BEAT else None


def delivers(job: NamedJob, due_at: int) -> bool:
    """Whether the job's schedule, as it stands, delivers a fire at this very due instant (ms)."""
    return job.state is JobState.ACTIVE and has_fire_at(job, due_at)
