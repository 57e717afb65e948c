"""Set releases aside: what the queue refuses for now waits in rows of its own, and the cursor passes its first rows.

A queue may refuse for minutes, all entries or some, while the others take theirs. If the cursor stayed at the first
refused release, everything behind it would wait, or be sent again at each visit. So the release gets a row behind the
horizon, in the shard that is being visited, and the next visit reads that row.

How it fails. The rows are put before the cursor is committed: if the poller dies between, or is fenced, the first row
is read again, and the release may be sent twice, like all that was sent since the last commit. No row can be missed:
a poller that holds the lease has read nothing behind its own horizon. If its lease is over, its row may lie behind the
cursor of the next one, but then its commit is refused, and the next one reads the first row.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from clockwork.domain import ids, keys
from clockwork.domain.releases import Release
from clockwork.domain.storage.rows import row_of
from clockwork.domain.timeline import Row
from clockwork.flows.containment import contained, put_each
from clockwork.flows.outages import tolerated
from clockwork.flows.poll.burials import bury

if TYPE_CHECKING:
    from clockwork.flows.poll.shard import Visit

log = logging.getLogger(__name__)


def set_aside(visit: Visit, releases: Sequence[Release]) -> list[int]:
    """Put a row for each release that the queue refused for now. A release whose row is refused for good ends as DEAD.

    Returns the indexes of those of which it is not certain that a row or a record holds them.
    """
    world, faults = visit.world, visit.world.environment.faults
    # Half a tick behind the horizon: the next visit reads it, and this one, whose horizon moves on with each commit,
    # does not come round to it again and again.
    at = max(keys.instant_of(visit.lease.horizon), world.clock.now() + visit.lookahead_ms)
    at += world.settings.tick_seconds * 500
    rows: dict[int, Row] = {}
    refused: dict[int, str] = {}
    for index, release in enumerate(releases):
        with contained(faults, partial(refused.__setitem__, index), release.execution_id):
            rows[index] = _row(visit.lease.partition_id, at, release, world.row_expires_at(at))
    held = list(rows)
    with tolerated(world, log, "not set aside: %s", {"action": "release_not_set_aside"}):
        for number, why_not in put_each(world.timeline, faults, list(rows.values())).items():
            refused[held[number]] = why_not
        held = []
        count = len(releases) - len(refused)
        visit.report.set_aside += count
        extra = {"action": "releases_set_aside", "shard": visit.lease.partition_id}
        log.warning("%d releases are refused for now, and set aside", count, extra=extra)
    ends = [(releases[index], f"neither its queue nor the timeline takes it: {refused[index]}") for index in refused]
    # Without a row of its own none comes again, unless the shard waits for it.
    unburied = bury(visit, ends, may_wait=False)
    return sorted([*held, *(list(refused)[number] for number in unburied)])


def _row(partition_id: str, at: int, release: Release, expires_at: int) -> Row:
    row_id = ids.derive("aside", release.execution_id, release.attempt)
    return row_of(partition_id, keys.row_key(at, row_id), [release], expires_at)
