"""The timeline in DynamoDB: rows of few, large attributes, since the cost of a read is per attribute."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from clockwork.aws.errors import ConditionFailed, Throttled, answer_of, told
from clockwork.aws.plane.plane import Outcome
from clockwork.aws.repeats import batches
from clockwork.aws.session import Aws
from clockwork.aws.stores.table import Item, Table, seconds, written
from clockwork.domain.errors import Unavailable, Unreadable
from clockwork.domain.timeline import NEVER, Page, Row

#: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchWriteItem.html
ROWS_PER_BATCH_WRITE = 25
BATCH_WRITE_ROUNDS = 6
#: A batch of puts whose answer is lost is not repeated, so the adapter waits longer for the answer.
PUT_READ_TIMEOUT_SECONDS = 5


class AwsTimeline:
    """`ports.Timeline` on a table with the key `partitionId` / `scheduleTime` and TTL on `expiresAt`.

    TTL counts in seconds: a row that is read has its `expires_at` rounded up to a whole second. One whose item is
    malformed is read as a row without elements, which no version can decode: its poller records that, and passes it.
    """

    def __init__(self, aws: Aws, table: str) -> None:
        self._name = table
        self._table = Table(aws, table, "partitionId", "scheduleTime")
        self._once = aws.plane("dynamodb", 1, PUT_READ_TIMEOUT_SECONDS)
        self._backoff = aws.backoff

    def put(self, rows: Sequence[Row]) -> None:
        """One row is put on condition that it is new, which is safe to repeat; several rows are put in batches."""
        if len(rows) == 1:
            self._table.put_new(_to_item(rows[0]))
        else:
            items = [_to_item(row) for row in rows]
            self._table.meter.put(*items)
            self._write_batches([{"PutRequest": {"Item": item}} for item in items])

    def put_new(self, rows: Sequence[Row]) -> None:
        for outcome in self._table.put_each_new([_to_item(row) for row in rows]):
            with suppress(ConditionFailed):
                answer_of(outcome)

    def find(self, row_refs: Sequence[tuple[str, str]]) -> Sequence[Row | None]:
        items = self._table.get_all(row_refs)
        return [self._row(items[ref]) if ref in items else None for ref in row_refs]

    def read(self, partition_id: str, after: str, until: str, limit: int) -> Page:
        if after >= until:
            return Page(())
        # The text next to `after`: a key may have one condition only, and BETWEEN includes its bounds.
        items, more = self._table.query(partition_id, (after + "\x00", until), limit)
        return Page(tuple(map(self._row, items)), more)

    def cancel(self, partition_id: str, key: str, element: int) -> bool:
        exists = "attribute_exists(#partitionId)"
        return self._table.update((partition_id, key), "ADD #cancelled :element", exists, element=frozenset({element}))

    def forget(self, partition_id: str, keys: Sequence[str]) -> None:
        rows = [written(partitionId=partition_id, scheduleTime=key) for key in keys]
        self._write_batches([{"DeleteRequest": {"Key": row}} for row in rows])

    def _row(self, item: Item) -> Row:
        row = self._table.apart(_from_item, item)
        if isinstance(row, Unreadable):
            return Row(item["partitionId"]["S"], item["scheduleTime"]["S"], b"", NEVER)
        return row

    def _write_batches(self, requests: Sequence[Any]) -> None:
        """Make these requests in batches; if any failed, raises the first error once all have ended."""
        waiting, faults = batches(requests, ROWS_PER_BATCH_WRITE), list[Unavailable]()
        for _ in self._backoff.rounds(BATCH_WRITE_ROUNDS):
            asked = [{"RequestItems": {self._name: batch}} for batch in waiting]
            outcomes = self._once.call_all("BatchWriteItem", asked)
            waiting = [
                left
                for batch, outcome in zip(waiting, outcomes, strict=True)
                if (left := self._left(batch, outcome, faults))
            ]
            if not waiting:
                break
        if faults:
            raise faults[0]
        if waiting:
            left_over = sum(map(len, waiting))
            raise Unavailable(f"{left_over} of {len(requests)} rows were refused for the moment")

    def _left(self, batch: Sequence[Any], outcome: Outcome, faults: list[Unavailable]) -> Sequence[Any]:
        """The requests of a batch that may be made again. A batch without a definite answer has none, but a fault."""
        try:
            return told(answer_of(outcome), "UnprocessedItems").get(self._name) or ()
        except Throttled:
            return batch  # none of these rows was written
        except Unavailable as error:
            faults.append(error)  # rows may have been written
            return ()


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
