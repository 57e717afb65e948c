"""Ports of requests: trails, the memory of Idempotency-Keys, operations on many, and notes about activity."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from clockwork.domain.errors import Unreadable
from clockwork.domain.requests.activity import Counts
from clockwork.domain.requests.create import KeyRow
from clockwork.domain.requests.operations import Open, Operation
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


class Operations(Protocol):
    """The operations of clients, changed only by compare-and-set; and for each client the list of those that are open.

    Sweeps find an operation by that list alone.
    """

    def find(self, client_id: str, operation_id: str) -> Operation | Unreadable | None:
        """The record of an operation; None if there is none, or why this version cannot read it."""

    def save(self, before: Operation | None, after: Operation) -> bool:
        """Store `after` if the stored record has the revision of `before` (None: no record is stored); otherwise False.

        A stored record that equals `after` counts as saved: an earlier answer was lost.
        """

    def list(self, client_id: str, limit: int, before: str | None) -> Sequence[tuple[str, Operation | Unreadable]]:
        """Up to `limit` operations of a client with their ids, the newest first, those before an id if given.

        Fewer than `limit` are the last.
        """

    def open(self) -> Sequence[Open]:
        """The lists of all clients that have open operations."""

    def open_of(self, client_id: str) -> Open:
        """The list of one client. If it cannot be read, that is logged, and it is made anew from the records."""

    def put_open(self, before: Open, after: Open) -> bool:
        """Store `after` if the stored list is `before`; otherwise False. An empty list is not stored.

        A stored list that equals `after` counts as stored.
        """


class Activity(Protocol):
    """The notes of all environments about what they counted, by hours and parts, until they expire."""

    def note(self, counts: Counts) -> None:
        """Store a note, in place of one with its name."""

    def list(self, part: int, hour_at: int, from_at: int, limit: int) -> Sequence[Counts | Unreadable]:
        """Up to `limit` notes of a part in an hour, of the minutes from `from_at` (ms) on, the latest minutes first.

        The hour begins at `hour_at` (ms). Some notes may be expired.

        Fewer than `limit` are all of them. An Unreadable stands for a note that this version cannot read.
        """
