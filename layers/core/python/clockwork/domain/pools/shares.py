"""Shares: which tickets of a call are beyond their client's share of a pool, by what each client has running there.

A worker tells with each claim how many attempts it has of each client. One environment of the api remembers what it was
told by each worker, so that shares cost no call. It knows too little after its start, and a dead worker counts for two
minutes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TypeVar

import msgspec

#: For so long (ms) a client counts after its last ticket, and a worker with all that it has after its last claim.
MET_FOR_MS = 3_600_000
TOLD_FOR_MS = 120_000
#: A queue in which a ticket waits for so long (ms) has more work than there are workers.
LATE_MS = 500
#: An environment remembers so many clients and workers of a pool, the latest ones.
MOST_MET = 500
MOST_WORKERS = 500
#: A sender puts so many tickets of a client that are due in one second into the first queue of their priority.
MOST_FIRST = 10
#: It remembers so many of those seconds.
MOST_SECONDS = 10_000
#: Workers are noted that receive from overflow queues: so often (ms), and good for so long.
NOTED_EVERY_MS = 3_600_000
NOTED_FOR_MS = 3 * NOTED_EVERY_MS
#: Nothing is put into the overflow queues of a pool for so long (ms) after one of them refused a ticket.
SHUT_FOR_MS = 60_000
Key = TypeVar("Key")
Value = TypeVar("Value")


class Held(msgspec.Struct, frozen=True):
    """How many attempts a worker, or several, can run at once, and how many they have of each client."""

    slots: int
    by_client: Mapping[str, int]


def beyond_share(asking: Sequence[str], held: Held, met: Collection[str]) -> list[int]:
    """The places of the tickets that would give their client far more than its share of the pool's slots.

    `asking`: the client of each ticket. `met`: the clients that had tickets lately. All shares are equal, and a client
    may have half as much again: beyond that it floods, and its tickets wait behind those of all others. One more share
    is kept free as long as any client of `met` has neither tickets here nor attempts. A client alone has no share to
    keep to.
    """
    counts = Counter({client: count for client, count in held.by_client.items() if count > 0})
    present = counts.keys() | set(asking)
    shares = len(present) + any(client not in present for client in met)
    most = -(-3 * held.slots // (2 * shares))
    beyond = []
    for place, client in enumerate(asking):
        if shares > 1 and counts[client] >= most:
            beyond.append(place)
        else:
            counts[client] += 1
    return beyond


class FirstPlaces:
    """One sender's count of the tickets that it puts into first queues: a bounded number for each client and second."""

    def __init__(self) -> None:
        self._taken: dict[tuple[str, str, str, int], int] = {}

    def take(self, pool: str, priority: str, client: str, due_at: int) -> bool:
        """Whether there is a place for a ticket that is due then (ms), which it takes."""
        place = pool, priority, client, due_at // 1000
        taken = self._taken.get(place, 0)
        if taken < MOST_FIRST:
            _renew(self._taken, place, taken + 1, MOST_SECONDS)
        return taken < MOST_FIRST


class Shares:
    """One environment's knowledge of who has work in each pool: a bounded number of clients and workers of each."""

    def __init__(self) -> None:
        #: By pool and priority: when (ms) each client had a ticket last, the latest last.
        self._met: dict[tuple[str, str], dict[str, int]] = {}
        #: By pool: when (ms) each worker claimed last, and what it has since.
        self._held: dict[str, dict[str, tuple[int, Held]]] = {}
        #: By pool: when (ms) this environment noted last that workers receive from its overflow queues.
        self._noted_at: dict[str, int] = {}
        #: By pool: until when (ms) nothing is put into its overflow queues.
        self._shut_until: dict[str, int] = {}

    def shut(self, pool: str, now: int) -> None:
        """Note that an overflow queue of a pool refused a ticket."""
        self._shut_until[pool] = now + SHUT_FOR_MS

    def is_shut(self, pool: str, now: int) -> bool:
        """Whether nothing is put into the overflow queues of a pool, as one of them refused a ticket lately."""
        return now < self._shut_until.get(pool, 0)

    def is_to_be_noted(self, pool: str, now: int) -> bool:
        """Whether it is time to note that workers receive from the overflow queues of a pool."""
        return now >= self._noted_at.get(pool, 0) + NOTED_EVERY_MS

    def noted(self, pool: str, now: int) -> None:
        """That is noted."""
        self._noted_at[pool] = now

    def meet(self, pool: str, priority: str, clients: Iterable[str], now: int) -> None:
        """Note the clients of tickets."""
        known = self._met.setdefault((pool, priority), {})
        for client in clients:
            _renew(known, client, now, MOST_MET)

    def met(self, pool: str, priority: str, now: int) -> set[str]:
        """The clients that had tickets lately."""
        known = self._met.get((pool, priority), {})
        return {client for client, at in known.items() if now < at + MET_FOR_MS}

    def hold(self, pool: str, worker_id: str, held: Held, now: int) -> None:
        """Note what a worker has."""
        _renew(self._held.setdefault(pool, {}), worker_id, (now, held), MOST_WORKERS)

    def held(self, pool: str, now: int) -> Held:
        """The slots and attempts of all workers, as far as is known."""
        slots, by_client = 0, Counter[str]()
        for at, held in self._held.get(pool, {}).values():
            if now < at + TOLD_FOR_MS:
                slots += held.slots
                by_client.update(held.by_client)
        return Held(slots, by_client)


def _renew(known: dict[Key, Value], name: Key, value: Value, most: int) -> None:
    """Note the latest, and forget what was noted first, beyond so many."""
    known.pop(name, None)
    known[name] = value
    if len(known) > most:
        del known[next(iter(known))]
