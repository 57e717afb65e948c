"""Expiry: how long an occurrence is of use (its relevancy window), and the record of one that ends undelivered."""

from __future__ import annotations

from clockwork.domain.executions import End, Execution, State, kept_until
from clockwork.domain.jobs import Occurrence
from clockwork.domain.releases import Release
from clockwork.domain.waits import NO_WAITING


def relevant_until(occurrence: Occurrence) -> int | None:
    """The last instant (ms) at which an attempt may start; None if an attempt never comes too late.

    The window begins at the earliest instant at which the occurrence could run. A backfilled fire is therefore not too
    late only because its due instant is long past.
    """
    if occurrence.relevancy_window_seconds is None:
        return None
    return occurrence.due_since + int(occurrence.relevancy_window_seconds * 1000)


def is_expired(occurrence: Occurrence, at: int) -> bool:
    """Whether an attempt that starts at `at` (ms) comes too late."""
    until = relevant_until(occurrence)
    return until is not None and at > until


def reason_of(occurrence: Occurrence) -> str:
    """The reason in the record of an EXPIRED occurrence."""
    return f"not delivered within its relevancyWindowSeconds {occurrence.relevancy_window_seconds:g}"


def expired_execution(release: Release, now: int, expires_at: int) -> Execution:
    """The EXPIRED record of an occurrence that came too late and had no record."""
    return ended_execution(release, State.EXPIRED, reason_of(release.occurrence), now, expires_at)


def ended_execution(
    release: Release, state: State, reason: str, now: int, expires_at: int, ended_by: int | None = None
) -> Execution:
    """The final record, with the reason, of an occurrence that ends undelivered in `state` and had no record."""
    kept = kept_until(now, release.occurrence.retention_days, expires_at)
    waits, end = NO_WAITING.over(release.waited_by(now)), End(ended_by=ended_by)
    return release.first_record(state, kept, reason=reason, waits=waits, end=end)
