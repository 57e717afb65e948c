"""Portions of rows that a poller hands to the queue in one call.

A portion is large enough for full SQS batches and few calls. It is small enough that the poller checks the clock and
its lease often enough, between two portions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from clockwork.domain.requests.packing import MOST_IN_ROW
from clockwork.domain.storage.codec import is_packed
from clockwork.domain.timeline import Row

ROWS_AT_ONCE = 100
#: A portion holds no more occurrences than a poller commits at once, since one row may hold many.
OCCURRENCES_AT_ONCE = 500


def portions(rows: Sequence[Row]) -> Iterator[Sequence[Row]]:
    """The rows in order, in portions of at most `ROWS_AT_ONCE` rows and `OCCURRENCES_AT_ONCE` occurrences."""
    portion: list[Row] = []
    room = OCCURRENCES_AT_ONCE
    for row in rows:
        count = _most_in_one(row)
        if len(portion) == ROWS_AT_ONCE or count > room:
            yield portion
            portion, room = [], OCCURRENCES_AT_ONCE
        portion.append(row)
        room -= count
    if portion:
        yield portion


def most_in(rows: Sequence[Row]) -> int:
    """How many occurrences the rows hold at the most. A pointer counts as one: `expand` bounds its chain."""
    return sum(map(_most_in_one, rows))


def _most_in_one(row: Row) -> int:
    return MOST_IN_ROW if is_packed(row.blob) else 1
