"""Watches the caps of clients (I8): how many deliveries are under way at once, and whether each has a reserved slot."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Mapping
from dataclasses import dataclass

from clockwork.domain.clients import Client
from tests.simulation.scheduler import Actor

#: Starts are counted over a window of this length (ms).
WINDOW_MS = 10_000
#: Greatest difference (ms) between the clocks of the machine that reserves a slot and the one that uses it.
CLOCKS_APART_MS = 3_000
#: Slots may pass while their messages wait for a permit or a machine; this many seconds' worth may be used at once.
OVERSHOOT_SECONDS = 5


@dataclass(frozen=True)
class UnderWay:
    """An attempt under way: the actor that makes it, and when it ends (true time, ms)."""

    actor: Actor
    end_at: int


class Caps:
    """The known deliveries of clients that have caps."""

    def __init__(self, clients: Mapping[str, Client]) -> None:
        self._clients = clients
        self._under_way: defaultdict[str, list[UnderWay]] = defaultdict(list)
        #: Whether this object is told of every reservation.
        self.knows_slots = True
        self._slots: defaultdict[str, list[int]] = defaultdict(list)
        self._attempts: defaultdict[str, set[tuple[str, int]]] = defaultdict(set)
        self._starts: defaultdict[str, deque[int]] = defaultdict(deque)
        self.most_started: defaultdict[str, int] = defaultdict(int)

    def reserved(self, client_id: str, first_at: int, count: int, interval_ms: float) -> None:
        """Notes slots that a deliverer has reserved."""
        self._slots[client_id] += [first_at + int(place * interval_ms) for place in range(count)]

    def objection(self, actor: Actor, client_id: str, attempt: tuple[str, int], now: int, end_at: int) -> str | None:
        """Notes an attempt that begins; returns the reason why it must not, or None.

        An attempt counts no more once the invocation that began it is over.
        """
        client = self._clients.get(client_id)
        if client is None:
            return None
        self._note_start(client_id, now)
        self._attempts[client_id].add(attempt)
        if client.max_rate_per_second is not None and self.knows_slots:
            passed = sum(slot <= now + CLOCKS_APART_MS for slot in self._slots[client_id])
            if len(self._attempts[client_id]) > passed:
                return f"{len(self._attempts[client_id])} attempts have begun, and {passed} slots have passed"
        others = [one for one in self._under_way[client_id] if one.end_at > now and not one.actor.is_over(now)]
        self._under_way[client_id] = [*others, UnderWay(actor, end_at)]
        most = client.max_concurrency
        if most is not None and len(others) + 1 > most:
            return f"{len(others) + 1} deliveries at once, the cap is {most}"
        return None

    def rate_objection(self) -> str | None:
        """A sentence about a client whose rate cap was overshot by more than the allowance. For runs without faults."""
        for client_id, most in self.most_started.items():
            rate = self._clients[client_id].max_rate_per_second
            if rate is not None and most > rate * (WINDOW_MS / 1000 + OVERSHOOT_SECONDS):
                return f"{most} deliveries of {client_id} started within {WINDOW_MS} ms at {rate:g} a second"
        return None

    def _note_start(self, client_id: str, now: int) -> None:
        starts = self._starts[client_id]
        starts.append(now)
        while starts[0] <= now - WINDOW_MS:
            starts.popleft()
        self.most_started[client_id] = max(self.most_started[client_id], len(starts))
