"""The shards table in a dictionary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from clockwork.domain.timeline import Shard
from clockwork.ports import Lease


class MemoryShards:
    """`ports.Shards` in plain Python."""

    def __init__(self) -> None:
        self._rows: dict[str, Shard] = {}

    def list(self) -> Sequence[str]:
        return sorted(self._rows)

    def register(self, partition_id: str) -> None:
        self._rows.setdefault(partition_id, Shard(partition_id))

    def get(self, partition_ids: Sequence[str]) -> Mapping[str, Shard]:
        return {p: self._rows.get(p, Shard(p)) for p in partition_ids}

    def acquire(self, partition_id: str, owner: str, now: int, until: int, horizon: str) -> Lease | None:
        shard = self._rows.get(partition_id)
        if shard is None or shard.lease_until >= now:
            return None
        lease = Lease(partition_id, owner, shard.epoch + 1, until, shard.cursor, max(shard.horizon, horizon))
        self._store(lease)
        return lease

    def commit(self, lease: Lease) -> bool:
        """Refuses also to move cursor or horizon back: a copy lost on its way may arrive after later commits."""
        shard = self._rows.get(lease.partition_id)
        if shard is None or (shard.owner, shard.epoch) != (lease.owner, lease.epoch):
            return False
        if lease.cursor < shard.cursor or lease.horizon < shard.horizon:
            return False
        self._store(lease)
        return True

    def _store(self, lease: Lease) -> None:
        self._rows[lease.partition_id] = Shard(
            lease.partition_id, lease.owner, lease.epoch, lease.until, lease.cursor, lease.horizon
        )
