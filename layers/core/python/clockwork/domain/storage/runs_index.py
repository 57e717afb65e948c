"""The index of a client's runs (`runsIndex`): every execution that has ended, of jobs with a key and without one.

A record comes into the index with the save that ends its execution, if its client has the option at that moment. It
stays for as long as the record is kept, so that a redrive moves it nowhere. A record of any other client has no part of
this: neither an attribute nor a write. The nodes of a run are not in it, since their run is.
"""

from __future__ import annotations

from collections.abc import Sequence, Set

import msgspec

from clockwork.domain.executions import FINAL, Execution
from clockwork.domain.ids import is_node


class Place(msgspec.Struct, frozen=True):
    """A place in the index: `key` is the record's `attention_key`, and `state` its state some moments ago, if known."""

    key: str
    job_id: str
    execution_id: str
    state: str


class PlacePage(msgspec.Struct, frozen=True):
    """Places, the latest due instant first; `next_before` asks for the next page."""

    places: Sequence[Place]
    next_before: str | None


def seen_down_to(key: str) -> int:
    """The instant (ms) from which on no place is left, once all were looked at down to this key.

    The key begins with 13 digits. Of a damaged one the digits count that are left: no place sorts behind others of
    which it may be one.
    """
    begin = key[:13]
    digits = begin[: len(begin) - len(begin.lstrip("0123456789"))]
    return int(digits.ljust(13, "9")) + 1


#: A save: the record that it replaces, and the new one.
Change = tuple[Execution | None, Execution]


def is_ending(before: Execution | None, after: Execution) -> bool:
    """Whether a save ends its record, which comes into the index if its client has one."""
    return after.state in FINAL and not (before is not None and before.end.indexed)


def indexed(changes: Sequence[Change], listing: Set[str]) -> list[Change]:
    """The saves with each record in the index that is in it or comes into it. `listing`: the clients that have one."""
    return [
        (before, msgspec.structs.replace(after, end=msgspec.structs.replace(after.end, indexed=True)))
        if (before is not None and before.end.indexed)
        or (after.client_id in listing and after.state in FINAL and not is_node(after.job_id))
        else (before, after)
        for before, after in changes
    ]
