"""Note control calls in the trail of their client: before the change, so that none is made that nobody asked for.

How it fails. The entry cannot be written: the call is Unavailable, and nothing is changed. The process dies behind it:
the entry stands, whether or not the change was made; the caller repeats, which makes another entry. The call is refused
behind it, as by a change in between: the entry says so, unless that write fails, too, which is logged.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import msgspec

from clockwork.domain.clients import ClientUnreadable
from clockwork.domain.errors import ClockworkError, Unavailable
from clockwork.domain.requests import trail
from clockwork.domain.requests.trail import Entry, Note
from clockwork.flows.outages import tolerated
from clockwork.flows.world import World

log = logging.getLogger(__name__)


class Noting:
    """The Note of one control call: it writes the call's entry once."""

    def __init__(self, world: World, entry: Entry) -> None:
        self._world = world
        self._entry = entry
        #: The entry as it is stored; None before.
        self.noted: Entry | None = None

    def __call__(self, client_id: str, changes: Sequence[str] = ()) -> None:
        """As `Note` says."""
        if self.noted is None:
            expires_at = self._world.execution_expires_at(self._entry.at, self._retention_days(client_id))
            kept = msgspec.structs.replace(self._entry, expires_at=expires_at)
            entry = trail.with_changes(kept, client_id, changes)
            self._world.trail.note(entry)
            self.noted = entry

    def _retention_days(self, client_id: str) -> int | None:
        try:
            client = self._world.clients.get(client_id)
        except ClientUnreadable:
            return None  # the call replaces the client
        return None if client is None else client.retention_days


@contextmanager
def noting(world: World, entry: Entry) -> Iterator[Note]:
    """The Note of the control call that the block carries out. If the block refuses the call, its entry will say so.

    An uncertain change (Unavailable) is not refused: the change may have been made.
    """
    note = Noting(world, entry)
    try:
        yield note
    except ClockworkError as error:
        if note.noted is not None and not isinstance(error, Unavailable):
            extra = {"action": "refusal_not_noted", "clientId": note.noted.client_id, "entryId": note.noted.entry_id}
            with tolerated(world, log, "the trail does not show that a call was refused: %s", extra):
                world.trail.note(trail.refused(note.noted, str(error)))
        raise
