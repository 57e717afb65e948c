"""Races for a record: who loses one plans again with what is there, but not for ever.

Each is lost to an attempt that goes on or ends, or to a cancel, and these are few. Who loses again and again meets a
store whose condition never holds, and must not ask it until the invocation's time is over, with all else in hand.
"""

from __future__ import annotations

from collections.abc import Iterator

from clockwork.domain.errors import Unavailable

MOST_RACES = 8


def races() -> Iterator[int]:
    """The races for one record, one number for each. Raises Unavailable instead of the one after `MOST_RACES`."""
    yield from range(1, MOST_RACES + 1)
    raise Unavailable("its record keeps changing")
