"""Awaited releases: whether the record of an execution waits for the very release in hand, and ends with it."""

from __future__ import annotations

from clockwork.domain.executions import WAITING, Execution, State
from clockwork.domain.lifecycle.attempts import goes_on
from clockwork.domain.releases import Release


def is_awaited(release: Release, stored: Execution) -> bool:
    """Whether the record waits for this very release, so that nobody else has work of it in hand.

    A parked execution waits for the row in its client's own partition.
    """
    is_waiting = stored.state in WAITING and stored.state is not State.PARKED
    return (is_waiting or goes_on(stored, release)) and release.attempt == stored.attempt + 1
