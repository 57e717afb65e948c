"""Clients as read a moment ago, so that not every job costs a read of its client."""

from __future__ import annotations

from collections.abc import Sequence

from clockwork.domain.clients import Client
from clockwork.ports import Clients as ClientsPort
from clockwork.ports import Clock

#: Clients kept at most; the one read longest ago makes room.
CAPACITY = 1_000


class CachedClients:
    """`ports.Clients` whose `get` may be `seconds` old. That a client does not exist is never remembered."""

    def __init__(self, inner: ClientsPort, clock: Clock, seconds: float, capacity: int = CAPACITY) -> None:
        self._inner = inner
        self._clock = clock
        self._age_ms = seconds * 1000
        self._capacity = capacity
        self._read: dict[str, tuple[int, Client]] = {}

    def get(self, client_id: str) -> Client | None:
        read_at, client = self._read.get(client_id, (0, None))
        if client is not None and 0 <= self._clock.now() - read_at < self._age_ms:
            return client
        now = self._clock.now()
        client = self._inner.get(client_id)
        self._read.pop(client_id, None)
        if client is not None:
            self._read[client_id] = (now, client)
            if len(self._read) > self._capacity:
                # Pollers of several shards use it in several threads.
                self._read.pop(next(iter(list(self._read)), ""), None)
        return client

    def put(self, client: Client) -> None:
        try:
            self._inner.put(client)
        finally:
            self._read.pop(client.client_id, None)

    def of_principal(self, principal: str) -> Sequence[str]:
        return self._inner.of_principal(principal)
