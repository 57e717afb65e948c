"""Owe what cannot be told: what is neither released nor recorded nor set aside is named in the row of its shard.

Each of these refusals is of the occurrence itself, of its bytes or of its client, and most of them pass. To wait for
it would hold up the shard, and to pass it would lose it. So the cursor passes it, and the same commit names it. The
next visit looks at it first, for itself, and again until an hour after it was due.

How it fails. If the poller dies before the commit, the cursor has not passed the row either. What is looked at again
may be sent again if the poller dies before its next commit, like all that was sent since the last one. If too much is
owed, or for too long, that is logged, and the row is passed for good.
"""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from clockwork.domain.errors import ClockworkError
from clockwork.domain.keys import edge_before
from clockwork.domain.lifecycle.owed import Owed, Untold, owed_of, rows_owed, with_owed
from clockwork.flows.containment import contained
from clockwork.flows.outages import tolerated

if TYPE_CHECKING:
    from collections.abc import Callable

    from clockwork.domain.timeline import Row
    from clockwork.flows.poll.shard import Visit

log = logging.getLogger(__name__)


def owe_passed(visit: Visit) -> None:
    """Owe what could not be told of the rows that the cursor has passed; what was tried for too long is logged."""
    for one in visit.untold:
        if one.key <= visit.lease.cursor:
            # What cannot be named is owed with all of its row, whose key is Clockwork's own.
            with contained(visit.world.environment.faults, partial(_owe_all, visit, one.key), one.key):
                _owe(visit, one)
    visit.untold = [one for one in visit.untold if one.key > visit.lease.cursor]


def _owe_all(visit: Visit, key: str, why_not: str) -> None:
    _owe(visit, Untold(key, why_not))


def _owe(visit: Visit, untold: Untold) -> None:
    owed = with_owed(visit.lease.owed, untold, visit.world.clock.now())
    if owed is None:
        pass_by(visit, untold)
    else:
        visit.lease = msgspec.structs.replace(visit.lease, owed=owed)


def look_again(visit: Visit, see_to: Callable[[Visit, Row, frozenset[str] | None], bool]) -> None:
    """Visit what is owed, row by row; what cannot be seen to now stays owed.

    `see_to` is told a row and which of its executions, and returns whether it is seen to.
    """
    rows = rows_owed(visit.lease.owed)
    for key, tags in rows.items():
        _owed_without(visit, key)
        is_done = False
        extra = {"action": "owed_left", "shard": visit.lease.partition_id}
        # Nothing else waits for it: the visit goes on, and the next one looks again.
        with tolerated(visit.world, log, "it stays owed: %s", extra, ClockworkError):
            is_done = visit.has_time and _is_seen_to(visit, key, tags, see_to)
        if not is_done:
            rest = {**rows_owed(visit.lease.owed), key: tags}
            visit.lease = msgspec.structs.replace(visit.lease, owed=owed_of(rest))


def _owed_without(visit: Visit, key: str) -> None:
    rest: Owed = {one: tags for one, tags in rows_owed(visit.lease.owed).items() if one != key}
    visit.lease = msgspec.structs.replace(visit.lease, owed=owed_of(rest))


def _is_seen_to(
    visit: Visit, key: str, tags: frozenset[str] | None, see_to: Callable[[Visit, Row, frozenset[str] | None], bool]
) -> bool:
    rows = visit.world.timeline.read(visit.lease.partition_id, edge_before(key), key, 1).rows
    if not rows:
        pass_by(visit, Untold(key, "its row has gone"))
        return True
    return see_to(visit, rows[0], tags)


def pass_by(visit: Visit, untold: Untold) -> None:
    """Tell in the log alone what is owed no longer."""
    told = "a death is not recorded, and its row is passed"
    visit.world.environment.faults.lost(
        "death_not_recorded",
        told,
        untold.why_not,
        key=untold.key,
        executionId=untold.execution_id or "all of the row",
    )
