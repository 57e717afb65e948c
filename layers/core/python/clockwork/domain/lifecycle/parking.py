"""Parked occurrences: set aside in their client's own partition, without an end, until they are let go."""

from __future__ import annotations

import msgspec

from clockwork.domain import ids, keys
from clockwork.domain.executions import FINAL, Execution, State
from clockwork.domain.releases import Release
from clockwork.domain.storage.rows import row_of
from clockwork.domain.timeline import NEVER, Row

#: What is let go in the first sweep after a client or target recovered, per second; each sweep doubles it.
FIRST_RATE = 5.0
HIGHEST_RATE = 1_000.0
#: An environment parks so long under one note (ms). Who takes longer to put a row after that look notes it once more.
NOTED_MS = 60_000
LONGEST_PARKING_MS = 60_000


class Parked(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """That a client has parked occurrences, and how they are to go. `rate` is what the next sweep lets go a second.

    `by_hand`: somebody asked for it at this very rate, open circuits or not. `discard_until`: those due by then (ms)
    are to end undelivered. `noted_at`: when an environment last said that it is about to park some (ms).
    """

    client_id: str
    rate: float = FIRST_RATE
    by_hand: bool = False
    discard_until: int | None = None
    noted_at: int = 0

    def goes_like(self, other: Parked) -> bool:
        """Whether both say the same, whenever they were noted."""
        return self == msgspec.structs.replace(other, noted_at=self.noted_at)


def parking_of(client_id: str) -> str:
    """The partitionId of a client's parked occurrences; no shard's looks like it."""
    return f"parked/{client_id}"


def parked_row(release: Release) -> Row:
    """The row of a parked release: its key is derived, so parking it twice is the same row.

    What was let go and is parked again has another: its first row may be about to be forgotten.
    """
    row_id = ids.derive("parked", release.execution_id, release.attempt, release.parkings)
    key = keys.row_key(release.occurrence.due_at, row_id)
    return row_of(parking_of(release.occurrence.client_id), key, [release], NEVER)


def parked_record(release: Release, stored: Execution | None, reason: str, expires_at: int) -> Execution:
    """The record of a parked occurrence: visible, with no attempt burnt. `stored` is one that waits, or none."""
    if stored is None:
        return release.first_record(State.PARKED, expires_at, reason=reason)
    return stored.changed(state=State.PARKED, reason=reason, next_attempt_at=None)


def discarded(stored: Execution, reason: str) -> Execution | None:
    """The end of a parked occurrence that is not wanted any more; None if it has ended or goes on already."""
    if stored.state in FINAL or stored.state is State.RUNNING:
        return None
    return stored.changed(state=State.SKIPPED, reason=reason)


def next_rate(rate: float) -> float:
    """The ramp: each sweep lets twice as much go as the one before."""
    return min(2 * rate, HIGHEST_RATE)
