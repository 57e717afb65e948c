"""The look: the last check before a start. By its row, the named job may want the occurrence no more.

The deliverer claims first and reads the row afterwards. Either it sees a change, or the change sees its claim.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from clockwork.domain.clients import Pause
from clockwork.domain.executions import Execution, State
from clockwork.domain.ids import ONLY_RUN, NamedJobId
from clockwork.domain.named.changes import delivers
from clockwork.domain.named.held_back import is_unwanted_after, pause_over
from clockwork.domain.named_jobs import NamedJob
from clockwork.domain.releases import Release

#: Stands for the revision of a release that has none. The first revision of a row is 1.
OLDEST_REVISION = 0


class Objection(msgspec.Struct, frozen=True):
    """The state in which an unwanted occurrence ends, and why.

    `ended_by`: it is final for releases of earlier revisions alone; None: it is final for all.
    """

    state: State
    reason: str
    ended_by: int | None = None


def objection_to(
    release: Release, job_ref: NamedJobId, job: NamedJob | None, pauses: Sequence[Pause] = (), *, is_started: bool
) -> Objection | None:
    """The reason why the occurrence may not start; None if the job wants it. `is_started`: it had an earlier attempt.

    `pauses`: the ended pauses of its client.
    """
    if release.of.source == "record":
        return None
    if job is None or job.incarnation != job_ref.incarnation or not job.is_alive:
        return Objection(State.CANCELLED, "its job was deleted")
    if release.of.run != ONLY_RUN:
        return None  # A client asked for it by hand.
    revision = OLDEST_REVISION if release.revision is None else release.revision
    due_at = release.occurrence.due_at
    objection = objection_of_schedule(job, revision, due_at, is_started=is_started)
    pause = None if objection is not None or is_started else pause_over(pauses, due_at)
    # What was redriven after the pause was asked for anew: the pause had no part in it.
    is_asked_anew = pause is not None and release.occurrence.created_at > pause.ended_at
    if pause is None or is_asked_anew or not is_unwanted_after(job, pause, due_at):
        return objection
    return Objection(State.SKIPPED, f"missed in a pause of its client: catchUp is {job.definition.catch_up}")


def objection_of_schedule(job: NamedJob, revision: int, due_at: int, *, is_started: bool) -> Objection | None:
    """Why an execution of the job's schedule, released by `revision`, is not to start; None if the job wants it."""
    if job.paused_at is not None and due_at > job.paused_at and not is_started:
        return Objection(State.SKIPPED, "its job is paused", job.revision + 1)
    closing = [one for one in job.closings if one.covers(revision, due_at, is_started=is_started)]
    if not closing or delivers(job, due_at):
        return None
    first = next((one for one in closing if one.state is State.CANCELLED), closing[0])
    return Objection(first.state, first.reason, max(one.revision for one in closing))


def was_started(stored: Execution | None) -> bool:
    """Whether an attempt of the execution has surely begun. One whose deliverer was lost may never have."""
    return stored is not None and any(attempt.state is not State.WORKER_LOST for attempt in stored.attempts)
