"""The part of a sweep: one client's note, leased by the sweep that releases its rows.

A row is sent first and deleted afterwards, so two sweeps at once would both send it. The lease is a compare-and-set on
the note as it was read before any row. The loser releases nothing: another sweep has run since, and may have sent the
rows.

How it fails. If the sweeper dies, the lease ends with the time that the sweep had. Rows that the sweep had sent and not
deleted are sent again then. If the answer to the lease is lost, nothing was sent, and a later sweep goes on.
"""

from __future__ import annotations

from typing import Any

import msgspec

from clockwork.domain.lifecycle.awaiting import CLAIM_GRACE_MS
from clockwork.domain.lifecycle.parking import LONGEST_PARKING_MS, NOTED_MS, Parked, next_rate
from clockwork.flows.world import World


class Part:
    """The note of one client, as it was read. `until`: when a sweep that takes it has surely ended (ms)."""

    def __init__(self, world: World, parked: Parked, until: int) -> None:
        self._world, self._parked = world, parked
        self._until = until + CLAIM_GRACE_MS
        self._is_ours = False

    def take(self) -> bool:
        """Take the part for this sweep; False if another sweep took it since the note was read. Raises Unavailable."""
        self._is_ours = self._is_ours or self._write(swept_until=self._until)
        return self._is_ours

    def note_step(self) -> None:
        """Let the next sweep unpark faster, and give the part back. A rate that an admin asked for stays."""
        if not self._parked.by_hand:
            self._end(rate=next_rate(self._parked.rate))

    def note_end(self, empty_at: int | None) -> None:
        """Reset the directions once all rows were read; if they need no reset, forget a note without rows.

        All that the directions asked for is done then, and the next backlog has a ramp of its own. `empty_at`: when the
        reading began (ms), if it found no row.
        """
        parked = self._parked
        plain = Parked(parked.client_id)
        if not parked.goes_like(plain):
            self._end(**msgspec.structs.asdict(plain))
        elif empty_at is not None and empty_at > parked.noted_at + NOTED_MS + LONGEST_PARKING_MS:
            # Sooner than that, a deliverer might still have put a row under this note since the partition was read.
            self._world.regulation.forget_parked(parked)

    def give_back(self) -> None:
        """Give the part back, if it is ours, to whichever sweep comes next."""
        if self._is_ours:
            self._end()
        if self._is_ours:
            # An admin has directed it anew meanwhile: the directions stay.
            for parked in self._world.regulation.parked():
                if (parked.client_id, parked.swept_until) == (self._parked.client_id, self._until):
                    self._parked = parked
                    self._end()

    def _end(self, **directions: Any) -> None:
        """Write the directions, with the end of our lease in the same write."""
        swept_until = self._world.clock.now() if self._is_ours else self._parked.swept_until
        if self._write(**{**directions, "swept_until": swept_until}):
            self._is_ours = False

    def _write(self, **changes: Any) -> bool:
        after = msgspec.structs.replace(self._parked, **changes)
        is_written = self._world.regulation.direct_parked(after, before=self._parked)
        if is_written:
            self._parked = after
        return is_written
