"""The trails of clients, the memory of Idempotency-Keys, and the notes about activity.

The trails lie in the executions table, each in a partition of its own, which is kept as records are. The notes lie
there in partitions of an hour and a part. The rows of keys lie in the jobs table, beside the jobs of their client.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from clockwork.aws.errors import ConditionFailed
from clockwork.aws.session import Aws
from clockwork.aws.stores.table import Item, Table, seconds, values_of, written
from clockwork.domain.errors import Unreadable
from clockwork.domain.requests.activity import HOUR_MS, Counts
from clockwork.domain.requests.trail import Entry, TrailPage
from clockwork.domain.storage.codec import decode, encode
from clockwork.ports import KeyRow

#: Prefixes of partitions, in place of a jobId. No jobId holds a slash, so no record lies there.
TRAIL, ACTIVITY = "trail/", "activity/"
#: Prefix of a key row's sort key; no jobKey begins with it, so a key row never collides with a job.
PREFIX = "\x01"


class AwsTrail:
    """`ports.Trail` on a table with the key `jobId` / `executionId` and TTL on `expiresAt`."""

    def __init__(self, aws: Aws, table: str) -> None:
        self._table = Table(aws, table, "jobId", "executionId")

    def note(self, entry: Entry) -> None:
        """One put without a condition, which is safe to repeat: nobody else has the key of the entry."""
        self._table.store(
            written(
                jobId=TRAIL + entry.client_id,
                executionId=entry.key,
                entry=encode(entry),
                expiresAt=seconds(entry.expires_at),
            )
        )

    def list(self, client_id: str, limit: int, before: str | None) -> TrailPage:
        items = self._table.query_all(TRAIL + client_id, limit, before=before, newest_first=True)
        entries = [self._table.apart(_entry, item) for item in items]
        return TrailPage(entries, items[-1]["executionId"]["S"] if len(items) == limit else None)


def _entry(item: Item) -> Entry:
    return decode(item["entry"]["B"], Entry)


class AwsKeyRows:
    """`ports.KeyRows` on a table with the key `clientId` / `jobKey` and TTL on `expiresAt`.

    TTL deletes late and counts in seconds. The attribute `expiresAtMs` therefore decides whether a key row still
    counts, and not its presence.
    """

    def __init__(self, aws: Aws, table: str) -> None:
        self._table = Table(aws, table, "clientId", "jobKey")

    def claim(self, row: KeyRow, now: int) -> KeyRow:
        """One conditional put, which is safe to repeat.

        The answer is the row that is stored in the end, whether this call or another one stored it.
        """
        try:
            self._table.put(_item_of(row), "attribute_not_exists(#jobKey) OR #expiresAtMs <= :now", now=now)
        except ConditionFailed as refused:
            if refused.item is None:
                raise
            return _key_row(refused.item)
        return row


def _item_of(row: KeyRow) -> Item:
    fields = msgspec.to_builtins(row)
    return written(**{**fields, "jobKey": PREFIX + row.key, "expiresAt": seconds(row.expires_at)})


def _key_row(item: Item) -> KeyRow:
    fields = values_of(item)
    return msgspec.convert({**fields, "jobKey": fields["jobKey"].removeprefix(PREFIX)}, KeyRow)


class AwsActivity:
    """`ports.Activity` on a table with the key `jobId` / `executionId` and TTL on `expiresAt`."""

    def __init__(self, aws: Aws, table: str) -> None:
        self._table = Table(aws, table, "jobId", "executionId")

    def note(self, counts: Counts) -> None:
        """One put without a condition, which is safe to repeat: nobody else has the name of the note."""
        place = {"jobId": _partition(counts.part, counts.hour_at), "executionId": counts.name}
        self._table.store(written(**place, counts=encode(counts), expiresAt=seconds(counts.expires_at)))

    def list(self, part: int, hour_at: int, from_at: int, limit: int) -> Sequence[Counts | Unreadable]:
        between = (f"{from_at:013d}", f"{hour_at + HOUR_MS:013d}")
        items = self._table.query_all(_partition(part, hour_at), limit, between=between, newest_first=True)
        return [self._table.apart(_counts, item) for item in items]


def _partition(part: int, hour_at: int) -> str:
    return f"{ACTIVITY}{part}/{hour_at:013d}"


def _counts(item: Item) -> Counts:
    return decode(item["counts"]["B"], Counts)
