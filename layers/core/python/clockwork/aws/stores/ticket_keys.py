"""The keys of tickets in the clients table: one item of the deployment, beside the clients and the pools.

`CachedTicketKeys` keeps them for a while, so that not every send costs a read.
"""

from __future__ import annotations

from collections.abc import Sequence

from clockwork.aws.errors import try_write
from clockwork.aws.session import Aws
from clockwork.aws.stores.table import Table, written
from clockwork.ports import Clock
from clockwork.ports import TicketKeys as TicketKeysPort

#: No clientId is empty but for this sign, and no pool has an empty name.
_OWNER = "@"
_ITEM = "ticketKeys"


class AwsTicketKeys:
    """`ports.TicketKeys` on a table with the key `clientId` / `item`: one item, whose `keys` have spaces between."""

    def __init__(self, aws: Aws, table: str) -> None:
        self._table = Table(aws, table, "clientId", "item")

    def get(self) -> Sequence[str]:
        item = self._table.get(_OWNER, _ITEM)
        return () if item is None else tuple(item["keys"]["S"].split())

    def make(self, key: str) -> None:
        item = written(clientId=_OWNER, item=_ITEM, keys=key)
        try_write(self._table.put, item, "attribute_not_exists(#clientId)")


class CachedTicketKeys:
    """`ports.TicketKeys` with a cache: the keys may be `seconds` old. Their absence is never cached."""

    def __init__(self, inner: TicketKeysPort, clock: Clock, seconds: float) -> None:
        self._inner = inner
        self._clock = clock
        self._age_ms = seconds * 1000
        self._read_at = 0
        self._keys: Sequence[str] = ()

    def get(self) -> Sequence[str]:
        now = self._clock.now()
        if not self._keys or not 0 <= now - self._read_at < self._age_ms:
            self._keys, self._read_at = self._inner.get(), now
        return self._keys

    def make(self, key: str) -> None:
        self._inner.make(key)
