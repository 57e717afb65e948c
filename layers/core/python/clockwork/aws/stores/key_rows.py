"""Idempotency-Keys in the jobs table, beside the named jobs of their client."""

from __future__ import annotations

import msgspec

from clockwork.aws.errors import ConditionFailed
from clockwork.aws.session import Aws
from clockwork.aws.stores.table import Item, Table, seconds, values_of, written
from clockwork.ports import KeyRow

#: Prefix of a key row's sort key; no jobKey begins with it, so a key row never collides with a job.
PREFIX = "\x01"


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
            self._table.put(_to_item(row), "attribute_not_exists(#jobKey) OR #expiresAtMs <= :now", now=now)
        except ConditionFailed as refused:
            if refused.item is None:
                raise
            return _from_item(refused.item)
        return row


def _to_item(row: KeyRow) -> Item:
    fields = msgspec.to_builtins(row)
    return written(**{**fields, "jobKey": PREFIX + row.key, "expiresAt": seconds(row.expires_at)})


def _from_item(item: Item) -> KeyRow:
    fields = values_of(item)
    return msgspec.convert({**fields, "jobKey": fields["jobKey"].removeprefix(PREFIX)}, KeyRow)
