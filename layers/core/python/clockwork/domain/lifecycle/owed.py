"""Owed work: what a poller had to pass although it could be neither released, nor recorded, nor set aside.

The row of the shard names it, in the same write that moves the cursor past it, and each further visit reads it again.
Only keys are written, which Clockwork has made: nothing of what was refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from clockwork.domain import ids, keys

#: It is tried again until so long after the instant of its row (ms). To try for ever would cost work at every visit.
TRIED_FOR_MS = 3_600_000
#: So much is owed in a shard at the most: about 3 KB, which its poller writes with each commit.
MOST_OWED = 50
#: The work of a timeline row by the row's key: the tags of its executions, or None for all that the row holds.
Owed = Mapping[str, frozenset[str] | None]


def tag_of(execution_id: str) -> str:
    """The tag of an execution of a row, of one length for each id."""
    return ids.derive("owed", execution_id)


def with_owed(owed: str, key: str, execution_id: str | None, now: int) -> str | None:
    """What is owed (a shard's field) with one more: an execution of the row at `key`, or all of the row if it is None.

    None: the row's instant is too long ago at `now` (ms), or too much is owed already.
    """
    reference = key if execution_id is None else f"{key}/{tag_of(execution_id)}"
    references = owed.split()
    if reference in references:
        return owed
    if len(references) >= MOST_OWED or now >= keys.instant_of(key) + TRIED_FOR_MS:
        return None
    return " ".join((*references, reference))


def rows_owed(owed: str) -> Owed:
    """What is owed, row by row."""
    rows: dict[str, frozenset[str] | None] = {}
    for reference in owed.split():
        key, _, tag = reference.partition("/")
        tags = rows.get(key, frozenset())
        rows[key] = None if not tag or tags is None else tags | {tag}
    return rows


def owed_of(rows: Owed) -> str:
    """The shard's field for what is owed."""
    return " ".join(_references(rows))


def _references(rows: Owed) -> Iterable[str]:
    for key, tags in rows.items():
        yield from (key,) if tags is None else (f"{key}/{tag}" for tag in sorted(tags))
