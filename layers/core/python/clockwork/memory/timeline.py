"""The timeline in a dictionary, with the bounds of a DynamoDB page."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Sequence

import msgspec

from clockwork.domain.timeline import Page, Row


class MemoryTimeline:
    """`ports.Timeline` in plain Python.

    Expired rows stay until `expire` is called, as TTL is never prompt. A page is cut before it exceeds `page_bytes`:
    1 MB in DynamoDB (https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Query.Pagination.html).
    """

    def __init__(self, page_bytes: int = 1_048_576) -> None:
        self._rows: dict[str, dict[str, Row]] = {}
        self._keys: dict[str, list[str]] = {}
        self._page_bytes = page_bytes

    def put(self, rows: Sequence[Row]) -> None:
        for row in rows:
            partition = self._rows.setdefault(row.partition_id, {})
            if row.key not in partition:
                insort(self._keys.setdefault(row.partition_id, []), row.key)
            partition[row.key] = row

    def put_new(self, rows: Sequence[Row]) -> None:
        self.put([row for row in rows if row.key not in self._rows.get(row.partition_id, {})])

    def find(self, row_refs: Sequence[tuple[str, str]]) -> Sequence[Row | None]:
        return [self._rows.get(partition_id, {}).get(key) for partition_id, key in row_refs]

    def read(self, partition_id: str, after: str, until: str, limit: int) -> Page:
        keys = self._keys.get(partition_id, [])
        first, last = bisect_right(keys, after), bisect_right(keys, until)
        rows: list[Row] = []
        size = 0
        for key in keys[first : min(last, first + limit)]:
            row = self._rows[partition_id][key]
            size += len(row.blob) + len(key) + 100
            if rows and size > self._page_bytes:
                break
            rows.append(row)
        return Page(tuple(rows), more=first + len(rows) < last)

    def cancel(self, partition_id: str, key: str, element: int) -> bool:
        row = self._rows.get(partition_id, {}).get(key)
        if row is None:
            return False
        self._rows[partition_id][key] = msgspec.structs.replace(row, cancelled=row.cancelled | {element})
        return True

    def forget(self, partition_id: str, keys: Sequence[str]) -> None:
        for key in keys:
            if self._rows.get(partition_id, {}).pop(key, None) is not None:
                self._keys[partition_id].remove(key)

    def expire(self, now: int) -> None:
        """Delete the rows whose `expires_at` has passed, as TTL does sooner or later."""
        for partition_id, rows in self._rows.items():
            self._rows[partition_id] = {key: row for key, row in rows.items() if not 0 < row.expires_at <= now}
            self._keys[partition_id] = sorted(self._rows[partition_id])
