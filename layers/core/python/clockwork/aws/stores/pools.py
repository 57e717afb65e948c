"""The pools in the clients table, beside the clients.

`CachedPools` keeps pools for a moment, so that not every call of a worker costs a read of its pool.
"""

from __future__ import annotations

from clockwork.aws.errors import held
from clockwork.aws.session import Aws
from clockwork.aws.stores.table import Table, written
from clockwork.domain.pools.pool import Pool
from clockwork.domain.storage.codec import decode, encode
from clockwork.ports import Clock
from clockwork.ports import Pools as PoolsPort

_ITEM = "pool"
#: Prefix of a pool's name in the attribute `clientId`; no clientId begins with it.
_POOL = "@"


class AwsPools:
    """`ports.Pools` on a table with the key `clientId` / `item`: a pool is the item {clientId: "@" + name, "pool"}."""

    def __init__(self, aws: Aws, table: str) -> None:
        self._table = Table(aws, table, "clientId", "item")

    def get(self, name: str, *, fresh: bool = False) -> Pool | None:  # noqa: ARG002 - always fresh
        item = self._table.get(_POOL + name, _ITEM)
        return None if item is None else decode(item["definition"]["B"], Pool)

    def put(self, pool: Pool, *, replaces: int) -> bool:
        """One conditional put. What it meets when it is refused tells whether an earlier call has done it."""
        item = written(clientId=_POOL + pool.name, item=_ITEM, definition=encode(pool), revision=pool.revision)
        return held(self._table.replace, item, "revision", replaces or None) or self.get(pool.name) == pool


class CachedPools:
    """`ports.Pools` with a cache: the answer of `get` may be `seconds` old. The absence of a pool is never cached.

    A deployment has a few pools, so nothing makes room.
    """

    def __init__(self, inner: PoolsPort, clock: Clock, seconds: float) -> None:
        self._inner = inner
        self._clock = clock
        self._age_ms = seconds * 1000
        self._read: dict[str, tuple[int, Pool]] = {}

    def get(self, name: str, *, fresh: bool = False) -> Pool | None:
        read_at, pool = self._read.get(name, (0, None))
        now = self._clock.now()
        if pool is not None and not fresh and 0 <= now - read_at < self._age_ms:
            return pool
        self._read.pop(name, None)
        pool = self._inner.get(name)
        if pool is not None:
            self._read[name] = now, pool
        return pool

    def put(self, pool: Pool, *, replaces: int) -> bool:
        try:
            return self._inner.put(pool, replaces=replaces)
        finally:
            self._read.pop(pool.name, None)
