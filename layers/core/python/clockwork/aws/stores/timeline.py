"""The timeline in DynamoDB: rows of few, large attributes, since botocore's cost of a read is per attribute."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from clockwork.aws.errors import Throttled, ask, told
from clockwork.aws.repeats import batches
from clockwork.aws.session import Aws
from clockwork.aws.stores.table import Item, Table, seconds, written
from clockwork.domain.errors import Unavailable
from clockwork.domain.timeline import NEVER, Page, Row

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient

#: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchWriteItem.html
ROWS_PER_BATCH_WRITE = 25
BATCH_WRITE_ROUNDS = 6
#: A batch of puts whose answer is lost is not repeated, so the adapter waits longer for the answer.
PUT_READ_TIMEOUT_SECONDS = 5


class AwsTimeline:
    """`ports.Timeline` on a table with the key `partitionId` / `scheduleTime` and TTL on `expiresAt`.

    TTL counts in seconds: a row that is read has its `expires_at` rounded up to a whole second.
    """

    def __init__(self, aws: Aws, table: str) -> None:
        self._name = table
        self._table = Table(aws, table, "partitionId", "scheduleTime")
        self._once: DynamoDBClient = aws.client_later("dynamodb", 1, PUT_READ_TIMEOUT_SECONDS)
        self._parallel = aws.parallel
        self._backoff = aws.backoff

    def put(self, rows: Sequence[Row]) -> None:
        """One row is put on condition that it is new, which is safe to repeat; several rows are put in batches."""
        if len(rows) == 1:
            self._put_new(rows[0])
        else:
            self._parallel.map(self._put_batch, batches(rows, ROWS_PER_BATCH_WRITE))

    def put_new(self, rows: Sequence[Row]) -> None:
        self._parallel.map(self._put_new, rows)

    def find(self, row_refs: Sequence[tuple[str, str]]) -> Sequence[Row | None]:
        items = self._table.get_all(row_refs)
        return [_from_item(items[ref]) if ref in items else None for ref in row_refs]

    def read(self, partition_id: str, after: str, until: str, limit: int) -> Page:
        if after >= until:
            return Page(())
        # The text next to `after`: a key may have one condition only, and BETWEEN includes its bounds.
        items, more = self._table.query(partition_id, (after + "\x00", until), limit)
        return Page(tuple(map(_from_item, items)), more)

    def cancel(self, partition_id: str, key: str, element: int) -> bool:
        exists = "attribute_exists(#partitionId)"
        return self._table.update((partition_id, key), "ADD #cancelled :element", exists, element=frozenset({element}))

    def forget(self, partition_id: str, keys: Sequence[str]) -> None:
        for batch in batches(keys, ROWS_PER_BATCH_WRITE):
            rows = [written(partitionId=partition_id, scheduleTime=key) for key in batch]
            self._write_batch([{"DeleteRequest": {"Key": row}} for row in rows])

    def _put_new(self, row: Row) -> bool:
        return self._table.put_new(_to_item(row))

    def _put_batch(self, rows: Sequence[Row]) -> None:
        self._write_batch([{"PutRequest": {"Item": _to_item(row)}} for row in rows])

    def _write_batch(self, requests: Sequence[Any]) -> None:
        waiting: Any = list(requests)
        for _ in self._backoff.rounds(BATCH_WRITE_ROUNDS):
            try:
                answer = ask(self._once.batch_write_item, RequestItems={self._name: waiting})
            except Throttled:
                continue  # none of these rows was written; NoAnswer is not caught, since rows may have been written
            waiting = told(answer, "UnprocessedItems").get(self._name)
            if not waiting:
                return
        raise Unavailable(f"{len(waiting)} of {len(requests)} rows were refused for the moment")


def _to_item(row: Row) -> Item:
    item: dict[str, Any] = {
        "partitionId": {"S": row.partition_id},
        "scheduleTime": {"S": row.key},
        "occurrences": {"B": row.blob},
    }
    if row.expires_at != NEVER:
        item["expiresAt"] = {"N": str(seconds(row.expires_at))}
    if row.cancelled:
        item["cancelled"] = {"NS": [str(element) for element in sorted(row.cancelled)]}
    return item


def _from_item(item: Item) -> Row:
    return Row(
        partition_id=item["partitionId"]["S"],
        key=item["scheduleTime"]["S"],
        blob=item["occurrences"]["B"],
        expires_at=int(item["expiresAt"]["N"]) * 1000 if "expiresAt" in item else NEVER,
        cancelled=frozenset(map(int, item["cancelled"]["NS"])) if "cancelled" in item else frozenset(),
    )
