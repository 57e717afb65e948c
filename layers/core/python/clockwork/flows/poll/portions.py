"""How much a poller hands to the queue in one call: often enough to look at the clock, few enough calls."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from clockwork.domain.requests.packing import MOST_IN_ROW
from clockwork.domain.storage.codec import is_packed
from clockwork.domain.timeline import Row

ROWS_AT_ONCE = 100
#: No more than a poller commits at once, since a row may hold many.
OCCURRENCES_AT_ONCE = 500


def portions(rows: Sequence[Row]) -> Iterator[Sequence[Row]]:
    """The rows in order, in portions of as many rows and occurrences as are handed over in one call."""
    portion: list[Row] = []
    room = OCCURRENCES_AT_ONCE
    for row in rows:
        count = most_in([row])
        if len(portion) == ROWS_AT_ONCE or count > room:
            yield portion
            portion, room = [], OCCURRENCES_AT_ONCE
        portion.append(row)
        room -= count
    if portion:
        yield portion


def most_in(rows: Sequence[Row]) -> int:
    """How many occurrences the rows hold at the most. What a pointer comes to is bounded where it is expanded."""
    return sum(MOST_IN_ROW if is_packed(row.blob) else 1 for row in rows)
