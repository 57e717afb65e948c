"""Idempotency-Keys in the jobs table, beside the named jobs of their client."""

from __future__ import annotations

from clockwork.aws.errors import ConditionFailed
from clockwork.aws.session import Aws
from clockwork.aws.stores.table import Item, Table, number, seconds
from clockwork.domain.requests.packing import NOT_PACKED
from clockwork.ports import KeyRow

#: Prefix of a key row's sort key; no jobKey begins with it, so a key row never collides with a job.
PREFIX = "\x01"


class AwsKeyRows:
    """`ports.KeyRows` on a table with the key `clientId` / `jobKey` and TTL on `expiresAt`.

    TTL deletes late and counts in seconds. So `expiresAtMs` decides whether a key row still counts, not its presence.
    """

    def __init__(self, aws: Aws, table: str) -> None:
        self._table = Table(aws, table, "clientId", "jobKey")

    def claim(self, row: KeyRow, now: int) -> KeyRow:
        """One conditional put, which is safe to repeat.

        The answer is the row that is stored in the end, whether this call or another one stored it.
        """
        try:
            self._table.put(
                _to_item(row), "attribute_not_exists(#jobKey) OR #expiresAtMs <= :now", {":now": number(now)}
            )
        except ConditionFailed as refused:
            if refused.item is None:
                raise
            return _from_item(refused.item)
        return row


def _to_item(row: KeyRow) -> Item:
    return {
        "clientId": {"S": row.client_id},
        "jobKey": {"S": PREFIX + row.key},
        "digest": {"S": row.digest},
        "createdAt": number(row.created_at),
        "seed": {"S": row.seed},
        "partitionId": {"S": row.partition_id},
        "packing": number(row.packing),
        "expiresAt": seconds(row.expires_at),
        "expiresAtMs": number(row.expires_at),
    }


def _from_item(item: Item) -> KeyRow:
    return KeyRow(
        client_id=item["clientId"]["S"],
        key=item["jobKey"]["S"].removeprefix(PREFIX),
        digest=item["digest"]["S"],
        created_at=int(item["createdAt"]["N"]),
        seed=item["seed"]["S"],
        partition_id=item["partitionId"]["S"],
        packing=int(item["packing"]["N"]) if "packing" in item else NOT_PACKED,
        expires_at=int(item["expiresAtMs"]["N"]),
    )
