"""Rows of the timeline, and shards with their lease, cursor and horizon."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from clockwork.domain import keys

#: The `expires_at` of a row that TTL must leave alone.
NEVER = 0


class Row(msgspec.Struct, frozen=True):
    """One timeline row: an encoded list of pending occurrences under its earliest due instant.

    `expires_at` in ms. `cancelled` holds the places of the elements that were cancelled.
    """

    partition_id: str
    key: str
    blob: bytes
    expires_at: int
    cancelled: frozenset[int] = frozenset()


class Page(msgspec.Struct, frozen=True):
    """Rows in key order. `more`: the range may hold more behind the last row read."""

    rows: tuple[Row, ...]
    more: bool = False


class ShardStatus(StrEnum):
    """Whether a shard is polled. One that is LEAVING still is; one that has LEFT is not, until it is taken back.

    Neither is one that was never registered, which counts as having LEFT.
    """

    USED = "used"
    LEAVING = "leaving"
    LEFT = "left"


class Shard(msgspec.Struct, frozen=True, rename="camel"):
    """One partition of the timeline. Everything at or before `cursor` has been released; everything at or before
    `horizon` may already be in someone's hands. Both are keys, `cursor <= horizon`, neither ever goes back.

    `changes` counts how often its status was written, so that no late or repeated write of it counts.
    `released`: how many occurrences its last visit had released at its last commit; None before the first.
    Its row stores each field under the field's name in camel case, or under the `name` given.
    """

    partition_id: str
    owner: str = ""
    epoch: int = 0
    lease_until: int = 0
    cursor: str = keys.BEGINNING
    horizon: str = keys.BEGINNING
    status: ShardStatus = msgspec.field(default=ShardStatus.USED, name="standing")
    changes: int = 0
    released: int | None = None


class Lease(msgspec.Struct, frozen=True):
    """The time-limited right of one poller to work on one shard, as of its last conditional update.

    `released`: how many occurrences have been released under it.
    """

    partition_id: str
    owner: str
    epoch: int
    until: int
    cursor: str
    horizon: str
    released: int = 0
