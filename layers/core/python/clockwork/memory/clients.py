"""The clients table with the pools and the keys of tickets, and the Idempotency-Keys, in dictionaries."""

from __future__ import annotations

from collections.abc import Sequence

from clockwork.domain.clients import Client, ClientUnreadable, standing_of
from clockwork.domain.errors import Unreadable
from clockwork.domain.pools.floods import Overflow
from clockwork.domain.pools.pool import Pool
from clockwork.ports import KeyRow


class MemoryClients:
    """`ports.Clients` in plain Python."""

    def __init__(self, admins: Sequence[str] = ()) -> None:
        self._admins = frozenset(admins)
        self._clients: dict[str, Client] = {}
        #: Of clients whose rows are damaged nothing but their standing is left.
        self._damaged: set[str] = set()

    def damage(self, client_id: str) -> None:
        """Let nobody read the client's row until it is replaced, as if its bytes were damaged."""
        self._clients[client_id] = standing_of(self._clients[client_id])
        self._damaged.add(client_id)

    def is_damaged(self, client_id: str) -> bool:
        """Whether nobody can read the client's row."""
        return client_id in self._damaged

    def get(self, client_id: str, *, fresh: bool = False) -> Client | None:  # noqa: ARG002 - always fresh
        if client_id in self._damaged:
            raise ClientUnreadable(client_id, "damaged", self._clients[client_id])
        return self._clients.get(client_id)

    def put(self, client: Client, *, replaces: int | None = None) -> bool:
        stored = self._clients.get(client.client_id)
        if replaces is not None and stored != client and replaces != (0 if stored is None else stored.revision):
            return False
        self._clients[client.client_id] = client
        self._damaged.discard(client.client_id)
        return True

    def list(self, limit: int, behind: str | None) -> Sequence[tuple[str, Client | Unreadable]]:
        behind_it = [one for one in sorted(self._clients) if behind is None or one > behind][:limit]
        return [(one, Unreadable("damaged") if one in self._damaged else self._clients[one]) for one in behind_it]

    def of_principal(self, principal: str) -> Sequence[str]:
        return sorted(c.client_id for c in self._clients.values() if principal in c.principals)

    def admins(self) -> frozenset[str]:
        return self._admins

    def name_admins(self, principals: Sequence[str]) -> None:
        self._admins = frozenset(principals)


class MemoryPools:
    """`ports.Pools` in plain Python."""

    def __init__(self) -> None:
        self._pools: dict[str, Pool] = {}
        self._overflow: dict[str, Overflow] = {}

    def get(self, name: str, *, fresh: bool = False) -> Pool | None:  # noqa: ARG002 - always fresh
        return self._pools.get(name)

    def put(self, pool: Pool, *, replaces: int) -> bool:
        stored = self._pools.get(pool.name)
        if stored != pool and replaces != (0 if stored is None else stored.revision):
            return False
        self._pools[pool.name] = pool
        return True

    def note_overflow(self, name: str, note: Overflow) -> None:
        self._overflow[name] = note

    def overflow(self, name: str, *, fresh: bool = False) -> Overflow | None:  # noqa: ARG002 - always fresh
        return self._overflow.get(name)


class MemoryKeyRows:
    """`ports.KeyRows` in plain Python."""

    def __init__(self) -> None:
        self._rows: dict[tuple[str, str], KeyRow] = {}

    def claim(self, row: KeyRow, now: int) -> KeyRow:
        stored = self._rows.get((row.client_id, row.key))
        if stored is None or stored.expires_at <= now:
            self._rows[row.client_id, row.key] = stored = row
        return stored


class MemoryTicketKeys:
    """`ports.TicketKeys` in plain Python."""

    def __init__(self) -> None:
        self.keys: list[str] = []

    def get(self) -> Sequence[str]:
        return tuple(self.keys)

    def make(self, key: str) -> None:
        if not self.keys:
            self.keys.append(key)
