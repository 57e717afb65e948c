"""The trails of clients in the executions table, each in a partition of its own, which is kept as records are."""

from __future__ import annotations

from clockwork.aws.session import Aws
from clockwork.aws.stores.table import Item, Table, seconds, written
from clockwork.domain.requests.trail import Entry, TrailPage
from clockwork.domain.storage.codec import decode, encode

#: Prefix of a trail's partition, in place of a jobId. No jobId holds a slash, so no record lies there.
PREFIX = "trail/"


class AwsTrail:
    """`ports.Trail` on a table with the key `jobId` / `executionId` and TTL on `expiresAt`."""

    def __init__(self, aws: Aws, table: str) -> None:
        self._table = Table(aws, table, "jobId", "executionId")

    def note(self, entry: Entry) -> None:
        """One put without a condition, which is safe to repeat: nobody else has the key of the entry."""
        self._table.store(
            written(
                jobId=PREFIX + entry.client_id,
                executionId=entry.key,
                entry=encode(entry),
                expiresAt=seconds(entry.expires_at),
            )
        )

    def list(self, client_id: str, limit: int, before: str | None) -> TrailPage:
        items = self._table.query_all(PREFIX + client_id, limit, before=before, newest_first=True)
        entries = [self._table.apart(_from_item, item) for item in items]
        return TrailPage(entries, items[-1]["executionId"]["S"] if len(items) == limit else None)


def _from_item(item: Item) -> Entry:
    return decode(item["entry"]["B"], Entry)
