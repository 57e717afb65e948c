"""Ends of occurrences of which nothing was recorded before."""

from __future__ import annotations

from clockwork.domain.executions import Execution, State, kept_until, number_of_last
from clockwork.domain.releases import Release


def ended_execution(release: Release, state: State, reason: str, now: int, expires_at: int) -> Execution:
    """The record of an occurrence that ends in a final `state` without having had one: undelivered, with the reason."""
    occurrence = release.occurrence
    return Execution(
        job_id=release.job_id,
        execution_id=release.execution_id,
        client_id=occurrence.client_id,
        due_at=occurrence.due_at,
        state=state,
        revision=1,
        expires_at=kept_until(now, occurrence.retention_days, expires_at),
        attempt=number_of_last(release.history),
        attempts=release.history,
        reason=reason,
    )
