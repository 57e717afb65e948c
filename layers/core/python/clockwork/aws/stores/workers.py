"""The notes of pools' workers, in the executions table: items in a pool's partition, by the hour."""

from __future__ import annotations

from collections.abc import Sequence

from clockwork.aws.session import Aws
from clockwork.aws.stores.table import Item, Table, seconds, written
from clockwork.domain.errors import Unreadable
from clockwork.domain.pools.presence import Present
from clockwork.domain.storage.codec import decode, encode

#: Prefix of the partition, in place of a jobId. No jobId holds a slash, so no record lies there.
PREFIX = "seen/"


class AwsWorkers:
    """`ports.Workers` on a table with the key `jobId` / `executionId` and TTL on `expiresAt`."""

    def __init__(self, aws: Aws, table: str) -> None:
        self._table = Table(aws, table, "jobId", "executionId")

    def note(self, seen: Present) -> None:
        expires_at = seconds(seen.expires_at)
        name = f"{seen.hour:013d}/{seen.worker_id}/{seen.by}"
        item = written(jobId=PREFIX + seen.pool, executionId=name, seen=encode(seen), expiresAt=expires_at)
        self._table.store(item)

    def list(self, pool: str, limit: int) -> Sequence[Present | Unreadable]:
        items = self._table.query_all(PREFIX + pool, limit, newest_first=True)
        return [self._table.apart(_from_item, item) for item in items]


def _from_item(item: Item) -> Present:
    return decode(item["seen"]["B"], Present)
