"""The values that the visits of one invocation share, and the rows that one visit has read and not sent."""

from __future__ import annotations

import threading

from clockwork.domain.messages.alignment import LEAST_WAITING, SECOND_MS, Grid
from clockwork.flows.poll.expand import Visited

#: A pool holds at most so many releases, and payloads of so many bytes; one portion may be more.
MOST_POOLED = 2_000
MOST_POOLED_BYTES = 4 * 1024 * 1024


class Waits:
    """Values that the visits of one invocation share.

    They are the number of messages that could wait, and the instant (ms) until which a visit may wait.
    """

    def __init__(self, latest_at: int) -> None:
        self.latest_at = latest_at
        self._lock = threading.Lock()
        self._count = 0

    def add(self, count: int) -> None:
        """Count further messages that could wait."""
        with self._lock:
            self._count += count

    @property
    def pay(self) -> bool:
        """Whether enough messages could wait for a poller to be paid meanwhile."""
        return self._count >= LEAST_WAITING


class Pool:
    """The read and unsent releases of a visit, in portions."""

    def __init__(self, grid: Grid) -> None:
        self._grid = grid
        self._portions: list[list[Visited]] = []
        self._releases = 0
        self._bytes = 0
        self._first_at: int | None = None

    def __bool__(self) -> bool:
        return bool(self._portions)

    def add(self, portion: list[Visited]) -> None:
        """Add the rows of a portion that are done but for their sends."""
        releases = [release for one in portion for release in one.releases]
        self._portions.append(portion)
        self._releases += len(releases)
        self._bytes += sum(len(release.occurrence.payload.body) for release in releases)
        instants = [release.run_at for release in releases]
        self._first_at = min(instants if self._first_at is None else [self._first_at, *instants], default=None)

    @property
    def is_full(self) -> bool:
        """Whether the pool has to be sent before more is read."""
        return self._releases >= MOST_POOLED or self._bytes >= MOST_POOLED_BYTES

    def may_wait(self, now: int) -> bool:
        """Whether the pool may wait for a sweep: nothing in it is due so soon that it would come late by that."""
        if not self._grid.is_on:
            return False
        return self._first_at is None or not self._grid.is_near(self._first_at, now + SECOND_MS)

    def take(self) -> list[list[Visited]]:
        """The portions, which are in the pool no more."""
        portions, self._portions = self._portions, []
        self._releases, self._bytes, self._first_at = 0, 0, None
        return portions
