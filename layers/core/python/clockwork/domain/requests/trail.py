"""The trail of a client: one entry for each control call, with its author and its reason.

An entry is written before the change. Every change therefore has an entry, and an entry may belong to a call whose
process died before the change.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Protocol

import msgspec

from clockwork.domain.errors import Unreadable

#: Of a changed definition so many places are listed, each with so many characters at the most.
MOST_CHANGES = 20
LONGEST_CHANGE = 256
#: The most characters kept of the words in which a call was refused.
LONGEST_REFUSAL = 500


class Entry(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """One control call. `action` is the operation's name in the API's description.

    `principal` is the caller as Clockwork sees it: a role, not its session. `asked` are the fields of the request that
    describe the call; `changes` are the JSON pointers of changed fields of a definition, the first MOST_CHANGES.
    """

    client_id: str
    #: When it was written (ms).
    at: int
    entry_id: str
    principal: str
    action: str
    expires_at: int
    job_id: str | None = None
    job_key: str | None = None
    execution_id: str | None = None
    reason: str | None = None
    asked: Mapping[str, str] = {}
    changes: tuple[str, ...] = ()
    #: The words in which the call was refused after all, as when another one came in between.
    refused: str | None = None

    @property
    def key(self) -> str:
        """Its sort key in its client's trail: by instant."""
        return f"{self.at:013d}#{self.entry_id}"


class TrailPage(msgspec.Struct, frozen=True):
    """Entries of a client, the newest first. `next_before` asks for those before them; None if there are none."""

    entries: Sequence[Entry | Unreadable]
    next_before: str | None


def since(page: TrailPage, at: int) -> TrailPage:
    """The entries of a page from an instant (ms) on.

    An unreadable entry stays among them unless an entry that is older than the instant comes before it.
    """
    kept = list(takewhile(lambda one: isinstance(one, Unreadable) or one.at >= at, page.entries))
    goes_on = page.next_before is not None and instant_of(page.next_before) >= at
    return TrailPage(kept, page.next_before if goes_on and len(kept) == len(page.entries) else None)


def instant_of(key: str) -> int:
    """The instant (ms) in the key of an entry."""
    return int(key.partition("#")[0])


class Note(Protocol):
    """A flow calls this right before its first change. A repeat within the call is free."""

    def __call__(self, client_id: str, changes: Sequence[str] = ()) -> None:
        """Note that the call changes something of this client. Raises Unavailable: then nothing may be changed."""


def unnoted(client_id: str, changes: Sequence[str] = ()) -> None:
    """The Note of a change that no caller of the API asked for: it notes nothing."""


def with_changes(entry: Entry, client_id: str, changes: Sequence[str]) -> Entry:
    """The entry with its client and the further changes of the call, within the bounds of an entry."""
    cut = tuple(one[:LONGEST_CHANGE] for one in (*entry.changes, *changes)[:MOST_CHANGES])
    return msgspec.structs.replace(entry, client_id=client_id, changes=cut)


def refused(entry: Entry, why: str) -> Entry:
    """The entry of a call that was refused after it was noted."""
    return msgspec.structs.replace(entry, refused=why[:LONGEST_REFUSAL])
