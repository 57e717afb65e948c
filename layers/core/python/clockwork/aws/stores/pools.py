"""The pools in the clients table, beside the clients.

`CachedPools` keeps pools for a moment, so that not every call of a worker costs a read of its pool. It keeps them for
some minutes if the table gives no answer, so that healthy attempts outlive that.
"""

from __future__ import annotations

import logging

import msgspec

from clockwork.aws.errors import try_write
from clockwork.aws.session import Aws
from clockwork.aws.stores.table import Table, written
from clockwork.domain.errors import Unavailable
from clockwork.domain.pools.floods import Flood, Overflow
from clockwork.domain.pools.pool import Pool
from clockwork.domain.storage.codec import decode, encode
from clockwork.ports import Clock
from clockwork.ports import Pools as PoolsPort

log = logging.getLogger(__name__)

_ITEM = "pool"
_OVERFLOW = "overflow"
#: Prefix of a pool's name in the attribute `clientId`; no clientId begins with it.
_POOL = "@"
#: While the table gives no answer, a pool counts for so long (ms) as it was read last. Heartbeats need their pool, and
#: an attempt whose worker is not heard of for a lease is lost.
KEPT_MS = 5 * 60_000
#: The note of overflow may be so old (ms): until then a client that floods a pool is not known to others.
OVERFLOW_MS = 5_000


class AwsPools:
    """`ports.Pools` on a table with the key `clientId` / `item`: a pool is the item {clientId: "@" + name, "pool"}."""

    def __init__(self, aws: Aws, table: str) -> None:
        self._table = Table(aws, table, "clientId", "item")

    def get(self, name: str, *, fresh: bool = False) -> Pool | None:  # noqa: ARG002 - always fresh
        item = self._table.get(_POOL + name, _ITEM)
        return None if item is None else decode(item["definition"]["B"], Pool)

    def put(self, pool: Pool, *, replaces: int) -> bool:
        """One conditional put. If it is refused, the stored item tells whether an earlier call has done it."""
        item = written(clientId=_POOL + pool.name, item=_ITEM, definition=encode(pool), revision=pool.revision)
        return try_write(self._table.replace, item, "revision", replaces or None) or self.get(pool.name) == pool

    def note_overflow(self, name: str, note: Overflow) -> None:
        floods = msgspec.json.encode(note.floods)
        self._table.store(written(clientId=_POOL + name, item=_OVERFLOW, at=note.at, floods=floods))

    def overflow(self, name: str, *, fresh: bool = False) -> Overflow | None:  # noqa: ARG002 - always fresh
        """A note that cannot be read counts as none, so that a claim writes it anew."""
        item = self._table.get(_POOL + name, _OVERFLOW)
        if item is None:
            return None
        try:
            floods = msgspec.json.decode(item["floods"]["B"], type=tuple[Flood, ...])
            return Overflow(int(item["at"]["N"]), floods)
        except (KeyError, ValueError) as error:
            extra = {"action": "overflow_unreadable", "pool": name}
            log.warning("a note of overflow cannot be read: %s", type(error).__name__, extra=extra)
            return None


class CachedPools:
    """`ports.Pools` with a cache: the answer of `get` may be `seconds` old. The absence of a pool is never cached.

    While the table gives no answer it may be up to KEPT_MS old, unless it is to be fresh: a principal that was taken
    from the pool meanwhile works on until then. The table is asked again after `seconds`. A deployment has a few pools,
    so nothing makes room.
    """

    def __init__(self, inner: PoolsPort, clock: Clock, seconds: float) -> None:
        self._inner = inner
        self._clock = clock
        self._age_ms = seconds * 1000
        self._read: dict[str, tuple[int, Pool]] = {}
        #: When (ms) the table gave no answer about a pool last.
        self._silent_at: dict[str, int] = {}
        #: When (ms) each pool's note of overflow was asked for, and what was read last.
        self._overflow: dict[str, tuple[int, Overflow | None]] = {}

    def get(self, name: str, *, fresh: bool = False) -> Pool | None:
        read_at, kept = self._read.get(name, (0, None))
        now = self._clock.now()
        age, silent_at = now - read_at, self._silent_at.get(name)
        if fresh or not 0 <= age < max(KEPT_MS, self._age_ms):
            kept = None
        was_silent = silent_at is not None and 0 <= now - silent_at < self._age_ms
        if kept is not None and (age < self._age_ms or was_silent):
            return kept
        try:
            return self._ask(name, now)
        except Unavailable as error:
            if kept is None:
                raise
            self._silent_at[name] = self._clock.now()
            extra = {"action": "pool_not_read", "pool": name}
            log.warning("a pool counts as it was read %d s ago: %s", age // 1000, error, extra=extra)
            return kept

    def _ask(self, name: str, now: int) -> Pool | None:
        pool = self._inner.get(name)
        self._silent_at.pop(name, None)
        self._read.pop(name, None)
        if pool is not None:
            self._read[name] = now, pool
        return pool

    def put(self, pool: Pool, *, replaces: int) -> bool:
        try:
            return self._inner.put(pool, replaces=replaces)
        finally:
            self._read.pop(pool.name, None)

    def note_overflow(self, name: str, note: Overflow) -> None:
        self._overflow.pop(name, None)
        self._inner.note_overflow(name, note)

    def overflow(self, name: str, *, fresh: bool = False) -> Overflow | None:
        """While the table gives no answer the note counts as it was read last: what it says ends by itself."""
        asked_at, note = self._overflow.get(name, (None, None))
        now = self._clock.now()
        if not fresh and asked_at is not None and 0 <= now - asked_at < OVERFLOW_MS:
            return note
        try:
            note = self._inner.overflow(name)
        except Unavailable as error:
            if fresh:
                raise
            extra = {"action": "overflow_not_read", "pool": name}
            log.warning("the note of overflow counts as it was read last: %s", error, extra=extra)
        self._overflow[name] = now, note
        return note
