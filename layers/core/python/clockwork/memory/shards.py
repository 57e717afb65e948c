"""The shards table in a dictionary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from clockwork.domain.timeline import Shard, ShardStatus
from clockwork.ports import Lease


class MemoryShards:
    """`ports.Shards` in plain Python."""

    def __init__(self) -> None:
        self._rows: dict[str, Shard] = {}
        self._ordered_count: int | None = None

    def list(self) -> Sequence[str]:
        return sorted(p for p, shard in self._rows.items() if shard.status is not ShardStatus.LEFT)

    def all(self) -> Sequence[Shard]:
        return [self._rows[partition_id] for partition_id in sorted(self._rows)]

    def register(self, partition_id: str, status: ShardStatus = ShardStatus.USED) -> None:
        self._rows.setdefault(partition_id, Shard(partition_id, status=status))

    def ordered_count(self, first: int) -> int:
        if self._ordered_count is None:
            self._ordered_count = first
        return self._ordered_count

    def change(self, shard: Shard, status: ShardStatus) -> bool:
        stored = self._rows.get(shard.partition_id)
        if stored is None or stored.changes != shard.changes:
            return False
        changes = stored.changes + 1
        self._rows[shard.partition_id] = msgspec.structs.replace(stored, status=status, changes=changes)
        return True

    def get(self, partition_ids: Sequence[str]) -> Mapping[str, Shard]:
        return {p: self._rows.get(p, Shard(p, status=ShardStatus.LEFT)) for p in partition_ids}

    def acquire(self, partition_id: str, owner: str, now: int, until: int, horizon: str) -> Lease | None:
        shard = self._rows.get(partition_id)
        if shard is None or shard.lease_until >= now:
            return None
        ahead = max(shard.horizon, horizon)
        lease = Lease(partition_id, owner, shard.epoch + 1, until, shard.cursor, ahead, quarantined=shard.quarantined)
        self._store(lease, shard.released)
        return lease

    def commit(self, lease: Lease) -> bool:
        """Write the lease as the port says, which also means never to move the cursor or the horizon back.

        Without that, a duplicate that was delayed on its way could undo later commits.
        """
        shard = self._rows.get(lease.partition_id)
        if shard is None or (shard.owner, shard.epoch) != (lease.owner, lease.epoch):
            return False
        if lease.cursor < shard.cursor or lease.horizon < shard.horizon:
            return False
        self._store(lease, lease.released)
        return True

    def _store(self, lease: Lease, released: int | None) -> None:
        self._rows[lease.partition_id] = msgspec.structs.replace(
            self._rows[lease.partition_id],
            owner=lease.owner,
            epoch=lease.epoch,
            lease_until=lease.until,
            cursor=lease.cursor,
            horizon=lease.horizon,
            released=released,
            quarantined=lease.quarantined,
        )
