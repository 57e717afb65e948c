"""Set releases aside: what the queue refuses for now waits in rows of its own, and the cursor passes its first rows.

A queue may refuse for minutes, all entries or some, while the others take theirs. If the cursor stayed at the first
refused release, everything behind it would wait, or be sent again at each visit. The release therefore gets a row
behind the horizon, in the shard that is being visited, and the next visit reads that row.

How it fails. The rows are put before the cursor is committed. If the poller dies between the two, or is fenced, the
first row is read again. The release may then be sent twice, like all that was sent since the last commit. No row can be
missed: a poller that holds the lease has read nothing behind its own horizon. If its lease is over, its row may lie
behind the cursor of the next poller. Its commit is then refused, and the next poller reads the first row. A queue may
refuse one release for longer than its record is kept: for that reason the record of an old release is looked at first,
and renewed.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import partial

import msgspec

from clockwork.domain import keys
from clockwork.domain.errors import Unreadable
from clockwork.domain.executions import Execution
from clockwork.domain.lifecycle.awaited import has_ended_for
from clockwork.domain.lifecycle.quarantine import Untold
from clockwork.domain.releases import Release
from clockwork.domain.storage.rows import row_of
from clockwork.domain.timeline import Row
from clockwork.flows.containment import contained, put_each
from clockwork.flows.outages import tolerated
from clockwork.flows.poll.burials import bury
from clockwork.flows.poll.visit import Visit
from clockwork.flows.records import renew
from clockwork.flows.timeline.later import AHEAD_MS
from clockwork.flows.world import World

log = logging.getLogger(__name__)


class Aside(msgspec.Struct, frozen=True):
    """The indexes of releases of which it is not certain that a row holds them, and what is left for the quarantine."""

    held: Sequence[int] = ()
    untold: Sequence[Untold] = ()


def set_aside(visit: Visit, refused: Sequence[tuple[Row, Release]]) -> Aside:
    """Put a row for each release that the queue refused for now; each comes with the row that it was read from.

    A release whose row is refused for a reason of its own ends as DEAD. The releases that cannot be recorded either are
    returned.
    """
    if not refused:
        return Aside()
    world, faults = visit.world, visit.world.environment.faults
    # Half a tick behind the horizon: the next visit reads it, and this one, whose horizon moves on with each commit,
    # does not come round to it again and again.
    at = max(keys.instant_of(visit.lease.horizon), world.clock.now() + visit.lookahead_ms)
    at += world.settings.tick_seconds * AHEAD_MS
    rows: dict[int, Row] = {}
    ends: dict[int, str] = {}
    for index, (_, release) in enumerate(refused):
        with contained(faults, partial(ends.__setitem__, index), release.execution_id):
            if not _renew_unless_ended(world, release):
                rows[index] = _row(visit.lease.partition_id, at, release, world.row_expires_at(at))
    held = list(rows)
    with tolerated(world, log, "not set aside: %s", {"action": "release_not_set_aside"}):
        for number, why_not in put_each(world.timeline, faults, list(rows.values())).items():
            ends[held[number]] = why_not
        held = []
        count = len(rows.keys() - ends.keys())
        visit.report.set_aside += count
        if count:
            extra = {"action": "releases_set_aside", "shard": visit.lease.partition_id}
            log.warning("%d releases are refused for now, and set aside", count, extra=extra)
    return Aside(held, _end(visit, [(*refused[index], why_not) for index, why_not in ends.items()]))


def untold_of(row: Row, release: Release, why_not: str) -> Untold:
    """The note by which the quarantine knows a release of the row."""
    return Untold(row.key, why_not, release.execution_id, release.revision, release.occurrence.client_id)


def _row(partition_id: str, at: int, release: Release, expires_at: int) -> Row:
    return row_of(partition_id, keys.row_key(at, release.row_id("aside")), [release], expires_at)


def _end(visit: Visit, ends: Sequence[tuple[Row, Release, str]]) -> list[Untold]:
    """End releases that neither the queue nor the timeline takes. Returns what cannot be ended."""
    told = [(release, f"neither its queue nor the timeline takes it: {why_not}") for _, release, why_not in ends]
    unburied = bury(visit, told)
    return [untold_of(*ends[number]) for number in sorted(unburied.waiting | unburied.refused)]


def _renew_unless_ended(world: World, release: Release) -> bool:
    """Renew the record of an old release; True if its execution has ended instead."""
    due_since = release.occurrence.due_since
    if release.is_recorded and world.retention.is_to_be_looked_at(due_since, world.clock.now()):
        extra = {"action": "aside_not_looked_at", "executionId": release.execution_id}
        # The next visit looks again: records are kept for days longer than this begins.
        with tolerated(world, log, "not looked at: %s", extra, Unreadable):
            return has_ended_for(release, renew(world, _record_of(world, release)))
    return False


def _record_of(world: World, release: Release) -> Execution | None:
    """The record of a release. A poller may list the records of a job, and may read no single one."""
    listed = world.executions.list(release.job_id, 1, release.execution_id + keys.END)
    return listed[0] if listed and listed[0].execution_id == release.execution_id else None
