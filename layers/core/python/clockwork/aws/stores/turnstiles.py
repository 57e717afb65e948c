"""The turnstiles in the executions table, each in a partition of its own, which no list of executions reads."""

from __future__ import annotations

from clockwork.aws.errors import held
from clockwork.aws.session import Aws
from clockwork.aws.stores.table import Item, Table, seconds, written
from clockwork.domain.errors import Unreadable
from clockwork.domain.named.overlaps import Turnstile
from clockwork.domain.storage.codec import decode, encode

#: Prefix of its partition, in place of a jobId. No jobId holds a slash, so no record lies there.
PREFIX = "turnstile/"
_ITEM = "last"


class AwsTurnstiles:
    """`ports.Turnstiles` on a table with the key `jobId` / `executionId` and TTL on `expiresAt`.

    An item is replaced if its attribute `turnstile` is what was read, whatever that holds: so one that is damaged is
    replaced as every other one, and by one of two that find it.
    """

    def __init__(self, aws: Aws, table: str) -> None:
        self._table = Table(aws, table, "jobId", "executionId")

    def get(self, job_id: str) -> tuple[Turnstile | None, object]:
        item = self._table.get(PREFIX + job_id, _ITEM)
        if item is None:
            return None, None
        stile = self._table.apart(_from_item, item)
        return None if isinstance(stile, Unreadable) else stile, item

    def put(self, found: object, after: Turnstile) -> bool:
        item = written(
            jobId=PREFIX + after.job_id,
            executionId=_ITEM,
            turnstile=encode(after),
            expiresAt=seconds(after.expires_at),
        )
        before = found.get("turnstile") if isinstance(found, dict) else None
        if before is None:
            done = held(self._table.put, item, "attribute_not_exists(#turnstile)")
        else:
            done = held(self._table.put, item, "#turnstile = :before", before=before)
        return done or self.get(after.job_id)[0] == after


def _from_item(item: Item) -> Turnstile:
    return decode(item["turnstile"]["B"], Turnstile)
