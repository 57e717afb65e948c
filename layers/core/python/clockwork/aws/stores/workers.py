"""The notes and the checkpoints of pools' workers, in the executions table.

The notes are items in a pool's partition, by the hour. Each checkpoint lies in a partition of its own.
"""

from __future__ import annotations

from collections.abc import Sequence

from clockwork.aws.errors import try_write
from clockwork.aws.session import Aws
from clockwork.aws.stores.table import Item, Table, seconds, written
from clockwork.domain.errors import Unreadable
from clockwork.domain.pools.checkpoint import Checkpoint
from clockwork.domain.pools.presence import Present
from clockwork.domain.storage.codec import decode, encode

#: Prefixes of the partitions, in place of a jobId. No jobId holds a slash, so no record lies there.
CHECKPOINTS, SEEN = "checkpoint/", "seen/"
_ITEM = "last"


class AwsCheckpoints:
    """`ports.Checkpoints` on a table with the key `jobId` / `executionId` and TTL on `expiresAt`."""

    def __init__(self, aws: Aws, table: str) -> None:
        self._table = Table(aws, table, "jobId", "executionId")

    def get(self, execution_id: str) -> Checkpoint | None:
        item = self._table.get(CHECKPOINTS + execution_id, _ITEM)
        return None if item is None else decode(item["checkpoint"]["B"], Checkpoint)

    def put(self, before: Checkpoint | None, after: Checkpoint) -> bool:
        item = written(
            jobId=CHECKPOINTS + after.execution_id,
            executionId=_ITEM,
            revision=after.revision,
            checkpoint=encode(after),
            expiresAt=seconds(after.expires_at),
        )
        done = try_write(self._table.replace, item, "revision", None if before is None else before.revision)
        return done or self.get(after.execution_id) == after


class AwsWorkers:
    """`ports.Workers` on a table with the key `jobId` / `executionId` and TTL on `expiresAt`."""

    def __init__(self, aws: Aws, table: str) -> None:
        self._table = Table(aws, table, "jobId", "executionId")

    def note(self, seen: Present) -> None:
        expires_at = seconds(seen.expires_at)
        name = f"{seen.hour:013d}/{seen.worker_id}/{seen.by}"
        item = written(jobId=SEEN + seen.pool, executionId=name, seen=encode(seen), expiresAt=expires_at)
        self._table.store(item)

    def list(self, pool: str, limit: int) -> Sequence[Present | Unreadable]:
        items = self._table.query_all(SEEN + pool, limit, newest_first=True)
        return [self._table.apart(_from_item, item) for item in items]


def _from_item(item: Item) -> Present:
    return decode(item["seen"]["B"], Present)
