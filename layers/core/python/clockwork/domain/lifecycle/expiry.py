"""The relevancy window: how long an occurrence is of use. And the first record of one that ends undelivered."""

from __future__ import annotations

from clockwork.domain.executions import Execution, State, kept_until, number_of_last
from clockwork.domain.jobs import Occurrence
from clockwork.domain.releases import Release


def relevant_until(occurrence: Occurrence) -> int | None:
    """The last instant (ms) at which an attempt may start; None if it never is too late.

    It counts from when the occurrence could first run: a backfilled fire is not old because its due instant is.
    """
    if occurrence.relevancy_window_seconds is None:
        return None
    return occurrence.due_since + int(occurrence.relevancy_window_seconds * 1000)


def is_expired(occurrence: Occurrence, at: int) -> bool:
    """Whether an attempt that starts at `at` (ms) comes too late."""
    until = relevant_until(occurrence)
    return until is not None and at > until


def reason_of(occurrence: Occurrence) -> str:
    """Why an occurrence is EXPIRED."""
    return f"not delivered within its relevancyWindowSeconds {occurrence.relevancy_window_seconds:g}"


def expired_execution(release: Release, now: int, expires_at: int) -> Execution:
    """The record of an occurrence that came too late and had none."""
    return ended_execution(release, State.EXPIRED, reason_of(release.occurrence), now, expires_at)


def ended_execution(release: Release, state: State, reason: str, now: int, expires_at: int) -> Execution:
    """The record of an occurrence that ends in a final `state` without having had one: undelivered, with the reason."""
    kept = kept_until(now, release.occurrence.retention_days, expires_at)
    history = release.history
    return release.first_record(state, kept, attempt=number_of_last(history), attempts=history, reason=reason)
