"""Changes of many named jobs: which of them a filter means, and the change that each still needs."""

from __future__ import annotations

from collections.abc import Callable

from clockwork.domain.named.changes import Change, has_cancelled_waiting, paused, resumed
from clockwork.domain.named_jobs import JobState, NamedJob


def has_tag(tag: str | None) -> Callable[[NamedJob], bool]:
    """Whether a job has the tag: `name` with any value, or `name=value` with this one, also an empty one.

    None: every job.
    """
    name, has_value, value = (tag or "").partition("=")
    return lambda job: (
        tag is None or (name in job.definition.tags and (not has_value or job.definition.tags[name] == value))
    )


def is_left_paused(paused_reason: str | None, job: NamedJob) -> bool:
    """Whether a resume of what was paused for one reason leaves the job alone, which was paused for another.

    A job that is active is meant: the call before may have died behind its row, and is made whole.
    """
    return paused_reason is not None and job.state is JobState.PAUSED and job.reason != paused_reason


def pausing(job: NamedJob, reason: str | None, *, cancels: bool, by: str | None = None) -> Change | None:
    """The change by which a principal pauses the job, and cancels what waits if asked to; None if it is so already."""
    is_so = job.state is JobState.PAUSED and (not cancels or has_cancelled_waiting(job))
    return None if is_so else paused(reason, cancels=cancels, by=by)


def resuming(job: NamedJob, reason: str | None, *, cancels: bool) -> Change | None:
    """The change that resumes the job; None if it is active already."""
    return None if job.state is JobState.ACTIVE else resumed(reason, cancels=cancels)
