"""The checkpoints in the executions table, each in a partition of its own, which no list of executions reads."""

from __future__ import annotations

from clockwork.aws.errors import held
from clockwork.aws.session import Aws
from clockwork.aws.stores.table import Table, seconds, written
from clockwork.domain.pools.checkpoint import Checkpoint
from clockwork.domain.storage.codec import decode, encode

#: Prefix of its partition, in place of a jobId. No jobId holds a slash, so no record lies there.
PREFIX = "checkpoint/"
_ITEM = "last"


class AwsCheckpoints:
    """`ports.Checkpoints` on a table with the key `jobId` / `executionId` and TTL on `expiresAt`."""

    def __init__(self, aws: Aws, table: str) -> None:
        self._table = Table(aws, table, "jobId", "executionId")

    def get(self, execution_id: str) -> Checkpoint | None:
        item = self._table.get(PREFIX + execution_id, _ITEM)
        return None if item is None else decode(item["checkpoint"]["B"], Checkpoint)

    def put(self, before: Checkpoint | None, after: Checkpoint) -> bool:
        item = written(
            jobId=PREFIX + after.execution_id,
            executionId=_ITEM,
            revision=after.revision,
            checkpoint=encode(after),
            expiresAt=seconds(after.expires_at),
        )
        done = held(self._table.replace, item, "revision", None if before is None else before.revision)
        return done or self.get(after.execution_id) == after
