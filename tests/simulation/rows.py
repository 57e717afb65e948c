"""Reads all rows of a timeline."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from types import MappingProxyType

from clockwork.domain.errors import NewerFormat, Undecodable
from clockwork.domain.keys import BEGINNING, END
from clockwork.domain.lifecycle.quarantine import kept_in, quarantine_of
from clockwork.domain.storage.codec import Element, decode_row
from clockwork.domain.timeline import Row, Shard
from clockwork.ports import Timeline


def every_row(timeline: Timeline, partition_id: str, after: str = BEGINNING, until: str = END) -> Iterator[Row]:
    """All rows with `after < key <= until`, page by page."""
    while True:
        page = timeline.read(partition_id, after, until, 1_000)
        yield from page.rows
        if not page.more:
            return
        after = page.rows[-1].key


def quarantined_rows(timeline: Timeline, shard: Shard) -> list[Row]:
    """The rows that the shard's pollers have passed and are to visit again; none if its row says so."""
    kept = every_row(timeline, quarantine_of(shard.partition_id)) if shard.quarantined else ()
    found = timeline.find([(shard.partition_id, kept_in(row.key)[0]) for row in kept])
    return [row for row in found if row is not None]


#: The bytes of rows before they were damaged: the simulator knows them, and no flow does.
UNDAMAGED: dict[bytes, bytes] = {}


def elements_of(row: Row) -> Mapping[int, Element]:
    """The elements of a row; those that it had if it was damaged; none if the row is unreadable."""
    return _elements_in(UNDAMAGED.get(row.blob, row.blob))


@lru_cache(maxsize=4_096)
def _elements_in(blob: bytes) -> Mapping[int, Element]:
    try:
        return MappingProxyType(decode_row(blob))
    except (Undecodable, NewerFormat):
        return MappingProxyType({})
