"""The read and write units of a table's calls, told to the meter of the request under way, if it counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from clockwork.aws.session import Aws
from clockwork.domain.requests.reading import units_of

#: Attributes by name, as DynamoDB writes them: {"S": "text"}, {"N": "1"}, {"B": b"bytes"}, {"NS": ["1"]}.
Item = Mapping[str, Any]
Key = tuple[str, ...]


class TableMeter:
    """The meter of one table, given by its name and the names of its key attributes."""

    def __init__(self, aws: Aws, table: str, key: Sequence[str]) -> None:
        self._aws, self._table, self._key = aws, table, key

    def got(self, keys: Sequence[Key], items: Sequence[Item]) -> None:
        """Items were read each for itself under these keys; some may have none, which costs a unit, too."""
        meter = self._aws.meter_of_requests
        if not meter.counts:
            return
        missing = set(keys)
        for item in items:
            key = tuple(item[name]["S"] for name in self._key)
            missing.discard(key)
            meter.read(self._table, key[0], units_of(_size(item)))
        for key in missing:
            meter.read(self._table, key[0], 1)

    def queried(self, request: Mapping[str, Any], items: Sequence[Item]) -> None:
        """A page of a query was read; a page of an index costs half."""
        meter = self._aws.meter_of_requests
        if meter.counts and ":partition" in request.get("ExpressionAttributeValues", ()):
            units = units_of(sum(map(_size, items)))
            partition = request["ExpressionAttributeValues"][":partition"]["S"]
            meter.read(self._table, partition, units if request.get("ConsistentRead") else units / 2)

    def put(self, *items: Item) -> None:
        """Items are written whole."""
        if self._aws.meter_of_requests.counts:
            for item in items:
                self._aws.meter_of_requests.wrote(_size(item))

    def changed(self, key: Key) -> None:
        """An item is changed where it lies."""
        if self._aws.meter_of_requests.counts:
            self._aws.meter_of_requests.changed(self._table, key[0])


def _size(item: Item) -> int:
    """The bytes of an item as DynamoDB counts them, about: names and values."""
    return sum(len(name) + sum(map(_length, value.values())) for name, value in item.items())


def _length(value: Any) -> int:
    return len(value) if isinstance(value, str | bytes) else 1
