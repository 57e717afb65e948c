"""Records and the releases that they wait for: which release goes on from a record that has one, or ends with it."""

from __future__ import annotations

import msgspec

from clockwork.domain.executions import FINAL, WAITING, Execution, State
from clockwork.domain.releases import Release


def goes_on(stored: Execution, release: Release) -> bool:
    """Whether the release goes on from a record that a change or a pause ended: its revision is the one that may."""
    if stored.state not in FINAL or stored.ended_by is None or release.revision is None:
        return False
    return release.revision >= stored.ended_by


def reopened(stored: Execution) -> Execution:
    """The ended record as it waits again, with a fresh budget of attempts."""
    return msgspec.structs.replace(
        stored,
        state=State.PENDING,
        ended_by=None,
        reason=None,
        budget_from=stored.attempt,
        handbacks=0,
        lost_workers=0,
        skipped=None,
    )


def is_awaited(release: Release, stored: Execution) -> bool:
    """Whether the record waits for this very release, so that nobody else has work of it in hand.

    A parked execution waits for the row in its client's own partition.
    """
    is_waiting = stored.state in WAITING and stored.state is not State.PARKED
    return (is_waiting or goes_on(stored, release)) and release.attempt == stored.attempt + 1
