"""Floods: what claims note of a pool for its senders, in one row.

A sender puts ten tickets of a client and second into the first queue. A flood that trickles stays below that, sends for
minutes, and no claim can move so many. Claims therefore name the client that floods a priority, and senders put all of
its tickets there into the overflow queue. The note ends by itself soon, and lasts while the flood does.

How it fails. A lost note, or one that another environment overwrites, is written again with the next tickets of the
flood. A note that ends too far ahead was written by a wrong clock, and does not count. A client that is noted and has
the pool alone has all slots, as workers draw from an overflow queue whenever the first one is empty.
"""

from __future__ import annotations

from collections.abc import Collection

import msgspec

#: Workers are noted that receive from overflow queues: so often (ms), and good for so long.
NOTED_EVERY_MS = 3_600_000
NOTED_FOR_MS = 3 * NOTED_EVERY_MS
#: A flood is noted for so long (ms), and renewed in the second half.
FLOODS_FOR_MS = 30_000
#: A row names so many floods, those that are noted for longest.
MOST_FLOODS = 20


class Flood(msgspec.Struct, frozen=True):
    """A client whose tickets of a priority all go to the overflow queue until an instant (ms)."""

    priority: str
    client_id: str
    until: int

    @property
    def key(self) -> tuple[str, str]:
        """Its priority and client: there is one flood of them at the most."""
        return self.priority, self.client_id

    def is_on(self, now: int) -> bool:
        """Whether it counts. It does not if a clock far ahead wrote it."""
        return now < self.until <= now + 2 * FLOODS_FOR_MS


class Overflow(msgspec.Struct, frozen=True):
    """When (ms) a worker was noted last that receives from the pool's overflow queues, and the pool's floods."""

    at: int
    floods: tuple[Flood, ...] = ()

    def is_open(self, now: int) -> bool:
        """Whether such workers count as being there."""
        return now < self.at + NOTED_FOR_MS

    def flooding(self, priority: str, now: int) -> frozenset[str]:
        """The clients whose tickets of a priority all go to the overflow queue."""
        return frozenset(one.client_id for one in self.floods if one.priority == priority and one.is_on(now))


def renewed(stored: Overflow | None, floods: Collection[tuple[str, str]], now: int) -> Overflow | None:
    """The note in place of the stored one, with these floods by priority and client. None: the stored one says enough.

    It is written anew once an hour, and for a flood that is not noted for half of its time from now on.
    """
    known = {} if stored is None else {one.key: one for one in stored.floods if one.is_on(now)}
    due = [key for key in floods if key not in known or known[key].until < now + FLOODS_FOR_MS // 2]
    if stored is not None and abs(now - stored.at) < NOTED_EVERY_MS and not due:
        return None
    known |= {key: Flood(*key, now + FLOODS_FOR_MS) for key in due}
    return Overflow(now, tuple(sorted(known.values(), key=lambda one: -one.until)[:MOST_FLOODS]))
