"""Ports of requests: the trail of control calls, and the memory of Idempotency-Keys."""

from __future__ import annotations

from typing import Protocol

from clockwork.domain.requests.create import KeyRow
from clockwork.domain.requests.trail import Entry, TrailPage


class Trail(Protocol):
    """The trails of clients: who asked for which change."""

    def note(self, entry: Entry) -> None:
        """Store the entry, in place of one with the same key."""

    def list(self, client_id: str, limit: int, before: str | None) -> TrailPage:
        """Up to `limit` entries of a client, the newest first, those before a key if given.

        An entry that this version cannot read is an Unreadable in its place.
        """


class KeyRows(Protocol):
    """The memory of Idempotency-Keys, one row for each."""

    def claim(self, row: KeyRow, now: int) -> KeyRow:
        """Store the row if its key is free or the stored row has expired. Returns the row that is stored now."""
