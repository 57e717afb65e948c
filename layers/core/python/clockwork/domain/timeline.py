"""Rows of the timeline, and shards with their lease, cursor and horizon."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

import msgspec

from clockwork.domain import keys

#: The `expires_at` of a row that TTL must not delete.
NEVER = 0
#: A shard whose cursor is so far behind now (ms) does not move: pollers visit each shard once a minute.
STANDS_MS = 120_000


class Row(msgspec.Struct, frozen=True, gc=False):
    """One timeline row: an encoded list of pending elements, under the earliest due instant among them.

    `expires_at` is in ms. `cancelled` holds the places (in the row) of the elements that were cancelled.
    """

    partition_id: str
    key: str
    blob: bytes
    expires_at: int
    cancelled: frozenset[int] = frozenset()


class Page(msgspec.Struct, frozen=True):
    """A page of rows in key order. `more`: the range may hold more rows behind the last one read."""

    rows: tuple[Row, ...]
    more: bool = False


class ShardStatus(StrEnum):
    """Whether a shard is polled: yes if it is USED or LEAVING; no if it has LEFT, until it is taken back.

    A shard that was never registered counts as one that has LEFT.
    """

    USED = "used"
    LEAVING = "leaving"
    LEFT = "left"


class Shard(msgspec.Struct, frozen=True, rename="camel"):
    """One partition of the timeline, with its lease, cursor and horizon.

    Every row at or before `cursor` has been released. Every row at or before `horizon` may already have been read by a
    poller. Both are keys, `cursor <= horizon`, and neither ever goes back. `epoch` is the lease's fencing token.
    `changes` counts how often its status was written, so that a late or repeated write of the status has no effect.
    `released`: how many occurrences its last visit had released at its last commit; None before the first commit.
    `quarantined`: how many rows its quarantine holds, as far as its pollers know; 0 only if it holds none.
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
    quarantined: int = 0

    def lag_ms(self, now: int) -> int:
        """How far its cursor is behind `now` (ms). A shard that no poller has visited yet is behind nothing."""
        return 0 if self.cursor == keys.BEGINNING else max(0, now - keys.instant_of(self.cursor))

    def stands_at(self, now: int) -> bool:
        """Whether it is polled and its cursor has stood still for long at `now` (ms), while its work became due."""
        is_polled = self.status is not ShardStatus.LEFT and self.cursor != keys.BEGINNING
        return is_polled and now - keys.instant_of(self.cursor) > STANDS_MS


def released_until(shards: Iterable[Shard]) -> int | None:
    """The instant (ms) by which all is released, whichever shard it lies in; None if that cannot be told yet.

    It starts at its instant, also if a table or the pollers fail meanwhile. Ordered shards do not count: their pollers
    release a job as it comes due. A shard that was never polled has released nothing.
    """
    polled = [one for one in shards if one.status is not ShardStatus.LEFT and not keys.is_ordered(one.partition_id)]
    if not polled or any(one.cursor == keys.BEGINNING for one in polled):
        return None
    return min(keys.instant_of(one.cursor) for one in polled)


class Lease(msgspec.Struct, frozen=True):
    """The time-limited right of one poller to work on one shard, as of its last conditional update.

    `released`: how many occurrences the poller has released under it. `quarantined`: as in `Shard`.
    """

    partition_id: str
    owner: str
    epoch: int
    until: int
    cursor: str
    horizon: str
    released: int = 0
    quarantined: int = 0
