"""Watches the caps of clients (I8): how many deliveries are under way at once, and whether each has a reserved slot."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from clockwork.domain.clients import Client
from clockwork.domain.executions import Execution
from clockwork.domain.releases import Deliver, Release
from tests.simulation.scheduler import Actor
from tests.simulation.slots import Slots

#: Starts are counted over a window of this length (ms).
WINDOW_MS = 10_000
#: A slot may pass while its message waits, a second for the queue and another for a permit or a machine. Work for this
#: many seconds may therefore start at once, and one attempt more, as a window may begin and end with one. That no two
#: attempts have one slot is judged by itself.
BURST_SECONDS = 2


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
        self._slots = Slots()
        self._starts: defaultdict[str, deque[int]] = defaultdict(deque)
        self.most_started: defaultdict[str, int] = defaultdict(int)
        #: The highest rate cap that a client has had.
        self._highest = {client_id: client.max_rate_per_second for client_id, client in clients.items()}

    def changed(self, client: Client) -> None:
        """Notes that a client was saved, perhaps with another rate cap."""
        rate, highest = client.max_rate_per_second, self._highest.get(client.client_id)
        if rate is not None and highest is not None:
            self._highest[client.client_id] = max(highest, rate)

    def reserved(
        self, actor: Actor | None, client_id: str, first_at: int, count: int, interval_ms: float
    ) -> str | None:
        """Notes slots that a deliverer has reserved; returns why they must not be given away, or None."""
        return self._slots.reserved(actor, client_id, first_at, count, interval_ms)

    def in_turn(self, releases: Sequence[Release]) -> list[Release]:
        """The releases of one send, those first that have named no slot yet: it is not for the others."""
        return sorted(releases, key=lambda one: isinstance(one, Deliver) and self._slots.knows(one))

    def sent(self, actor: Actor | None, release: Deliver) -> str | None:
        """Notes a release that the queue took; returns why it must not look like this, or None."""
        return self._slots.sent(actor, release) if self._has_slots(release.occurrence.client_id) else None

    def noted(self, actor: Actor | None, record: Execution) -> None:
        """Notes a record that was stored: an ordered execution's tells its slot."""
        if self._has_slots(record.client_id):
            self._slots.noted(actor, record)

    def _has_slots(self, client_id: str) -> bool:
        client = self._clients.get(client_id)
        return self.knows_slots and client is not None and client.max_rate_per_second is not None

    def objection(self, actor: Actor, client_id: str, attempt: tuple[str, int], now: int, end_at: int) -> str | None:
        """Notes an attempt that begins; returns the reason why it must not, or None.

        An attempt counts no more once the invocation that began it is over.
        """
        client = self._clients.get(client_id)
        if client is None:
            return None
        self._note_start(client_id, now)
        slotless = self._slots.objection(actor, client_id, attempt, now) if self._has_slots(client_id) else None
        if slotless is not None:
            return slotless
        others = [one for one in self._under_way[client_id] if one.end_at > now and not one.actor.is_over(now)]
        self._under_way[client_id] = [*others, UnderWay(actor, end_at)]
        most = client.max_concurrency
        if most is not None and len(others) + 1 > most:
            return f"{len(others) + 1} deliveries at once, the cap is {most}"
        return None

    def rate_objection(self, apart: str | None = None) -> str | None:
        """A sentence about a client whose rate cap was overshot in some window of 10 s. For runs without faults.

        Not about the one `apart`, whose attempts come late after their slots.
        """
        for client_id, most in self.most_started.items():
            rate = self._highest[client_id]
            if rate is not None and client_id != apart and most > rate * (WINDOW_MS / 1000 + BURST_SECONDS) + 1:
                return f"{most} deliveries of {client_id} started within {WINDOW_MS} ms at {rate:g} a second"
        return None

    def _note_start(self, client_id: str, now: int) -> None:
        starts = self._starts[client_id]
        starts.append(now)
        while starts[0] <= now - WINDOW_MS:
            starts.popleft()
        self.most_started[client_id] = max(self.most_started[client_id], len(starts))
