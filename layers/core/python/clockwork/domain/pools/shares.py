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
#: A client floods if an environment saw so many late tickets beyond its share within so long (ms).
MANY_BEYOND = 3
BEYOND_WITHIN_MS = 10_000
#: An environment writes a note of overflow so often (ms) at the most.
NOTES_APART_MS = 5_000
#: Nothing is put into the overflow queues of a pool for so long (ms) after one of them refused a ticket.
SHUT_FOR_MS = 60_000
Key = TypeVar("Key")
Value = TypeVar("Value")


class Held(msgspec.Struct, frozen=True):
    """How many attempts a worker, or several, can run at once, and how many they have of each client."""

    slots: int
    by_client: Mapping[str, int]


def beyond_share(asking: Sequence[str], held: Held, met: Collection[str], flooding: Collection[str] = ()) -> list[int]:
    """The places of the tickets that would give their client far more than its share of the pool's slots.

    `asking`: the client of each ticket. `met`: the clients that had tickets lately. All shares are equal, and a client
    may have half as much again: beyond that it floods, and its tickets wait behind those of all others. One more share
    is kept free as long as any client of `met` has neither tickets here nor attempts. A client alone has no share to
    keep to. Beside the clients that are `flooding` it is alone, since their tickets wait elsewhere.
    """
    counts, calm = Counter(held.by_client), [client for client in asking if client not in flooding]
    of_calm = {client: count for client, count in held.by_client.items() if client not in flooding}
    shares_of_calm = shares_of(calm, of_calm, [client for client in met if client not in flooding])
    shares_of_all = shares_of(asking, held.by_client, met)
    beyond = []
    for place, client in enumerate(asking):
        shares = shares_of_all if client in flooding else shares_of_calm
        if shares > 1 and counts[client] >= -(-3 * held.slots // (2 * shares)):
            beyond.append(place)
        else:
            counts[client] += 1
    return beyond


def has_share(client: str, asking: Sequence[str], held: Held, met: Collection[str]) -> bool:
    """Whether a client has its share of the slots, where there are others."""
    shares = shares_of(asking, held.by_client, met)
    return shares > 1 and held.by_client.get(client, 0) * shares >= held.slots


def shares_of(asking: Sequence[str], counts: Mapping[str, int], met: Collection[str]) -> int:
    """How many shares there are: one for each client with tickets here or attempts, and one more for those met."""
    present = {*asking, *(client for client, count in counts.items() if count > 0)}
    return len(present) + any(client not in present for client in met)


class FirstPlaces:
    """One sender's count of the tickets that it puts into first queues: a bounded number for each client and second."""

    def __init__(self) -> None:
        self._taken: dict[tuple[str, str, str, int], int] = {}

    def take(self, pool: str, priority: str, client: str, due_at: int) -> bool:
        """Take a place for a ticket that is due then (ms); False if there is none."""
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
        #: By pool: when (ms) this environment wrote its note of overflow last, or tried to.
        self._wrote_at: dict[str, int] = {}
        #: By pool, priority and client: since when (ms) late tickets were beyond its share, and how many.
        self._beyond: dict[tuple[str, str, str], tuple[int, int]] = {}
        #: By pool: until when (ms) nothing is put into its overflow queues.
        self._shut_until: dict[str, int] = {}

    def shut(self, pool: str, now: int) -> None:
        """Note that an overflow queue of a pool refused a ticket."""
        self._shut_until[pool] = now + SHUT_FOR_MS

    def is_shut(self, pool: str, now: int) -> bool:
        """Whether nothing is put into the overflow queues of a pool, as one of them refused a ticket lately."""
        return now < self._shut_until.get(pool, 0)

    def begin_note(self, pool: str, now: int) -> bool:
        """Count the note of overflow of a pool as tried now; False if its time to be written has not come."""
        is_time = not 0 <= now - self._wrote_at.get(pool, now - NOTES_APART_MS) < NOTES_APART_MS
        if is_time:
            self._wrote_at[pool] = now
        return is_time

    def note_beyond(self, pool: str, priority: str, client: str, now: int) -> bool:
        """Note a late ticket beyond its client's share; True if the client floods the pool by now."""
        key = pool, priority, client
        since, count = self._beyond.get(key, (now, 0))
        if not 0 <= now - since < BEYOND_WITHIN_MS:
            since, count = now, 0
        _renew(self._beyond, key, (since, count + 1), MOST_MET)
        return count + 1 >= MANY_BEYOND

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
