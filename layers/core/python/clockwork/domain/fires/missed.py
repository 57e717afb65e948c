"""Missed fires: which ones were, and up to when those behind a missed one were missed as well."""

from __future__ import annotations

from math import ceil

from clockwork.domain.named_jobs import NamedJob
from clockwork.domain.recurrence import Fire

#: A fire that is read later than this after its due instant (ms) was missed, and `catchUp` decides about it.
MISSED_AFTER_MS = 60_000


def is_missed(job: NamedJob, fire: Fire, now: int) -> bool:
    """Whether the fire was missed: in a pause, whose end decided about it, or because it is read long after it was due.

    Then the catch-up policy decides about it. A fire that catchUp `all` delivers does not count as missed, nor does the
    one fire of a job that fires once, nor one that a resume released.
    """
    if job.definition.recurrence is None:
        return False
    if fire.due_at < job.skips_until:
        return True
    is_late = fire.due_at > job.asked_at and now > fire.due_at + MISSED_AFTER_MS
    return is_late and not (job.definition.catch_up == "all" and is_in_window(job, fire, now))


def missed_to(job: NamedJob, fire: Fire, now: int) -> int:
    """Up to which instant (ms) all fires behind a missed one were missed for the reason that it was."""
    if fire.due_at < job.skips_until:
        return job.skips_until - 1
    is_all = job.definition.catch_up == "all"
    kept_ms = max(MISSED_AFTER_MS, job.definition.catch_up_window_seconds * 1000) if is_all else MISSED_AFTER_MS
    return ceil(now - kept_ms) - 1


def is_in_window(job: NamedJob, fire: Fire, now: int) -> bool:
    """Whether the fire was due so lately that `catchUp` may still deliver it."""
    return fire.due_at >= now - job.definition.catch_up_window_seconds * 1000
