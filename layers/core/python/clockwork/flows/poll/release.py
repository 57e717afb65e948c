"""Release a portion of the rows of a shard: put the next pointers, send, record what ends, and move the cursor."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import msgspec

from clockwork.domain.executions import Execution, State
from clockwork.domain.lifecycle.attempts import plan_death
from clockwork.domain.lifecycle.expiry import expired_execution, is_expired
from clockwork.domain.releases import Release
from clockwork.domain.timeline import Row
from clockwork.flows.deaths import call_back, notify_dead
from clockwork.flows.outages import tolerated
from clockwork.flows.poll.expand import Visited, visit_rows
from clockwork.flows.skipped import Stretch, record_skipped
from clockwork.flows.world import World

if TYPE_CHECKING:
    from clockwork.flows.poll.shard import Visit

log = logging.getLogger(__name__)


def release_portion(visit: Visit, rows: Sequence[Row], until: str) -> str | None:
    """Put the next pointers, then send, then record skipped fires; move the cursor past the rows that are done.

    Returns None, or why the poller must not read on: `stuck`, or `goes_on` if it must read again from the cursor.
    """
    # In an ordered shard a chain is expanded one fire at a time: another job of its key may be due before the next one.
    limit = 1 if visit.keeps_order else visit.world.settings.commit_occurrences
    visited = list(_until_stop(visit_rows(visit.world, rows, until, limit)))
    newer = bool(visited) and visited[-1].is_newer
    done = visited[:-1] if newer else visited
    if not done:
        return "stuck"
    following = [row for one in done for row in one.following]
    if following:
        visit.world.timeline.put_new(following)
    releases, expired = expire_releases(visit.world, [release for one in done for release in one.releases])
    visit.report.expired += expired
    # To spread ordered occurrences would change their order. Each waits for its slot when it is the head of its key.
    spread = releases if visit.keeps_order else visit.spreading.spread(releases)
    if not _send(visit, spread, [record for one in done for record in one.records]):
        return "stuck"
    # Skipped fires are recorded last. Until the fires beside them are sent they are read again, and may be more then.
    if not _skip(visit, [stretch for one in done for stretch in one.skipped]):
        return "stuck"
    visit.lease = msgspec.structs.replace(visit.lease, cursor=done[-1].row.key)
    if newer:
        return "stuck"
    return "goes_on" if done[-1].goes_on else None


def _until_stop(visited: Iterator[Visited]) -> Iterator[Visited]:
    """The visited rows, up to and including the first one behind which no row may be passed."""
    for one in visited:
        yield one
        if one.goes_on or one.is_newer:
            return


def _send(visit: Visit, releases: Sequence[Release], records: list[Execution]) -> bool:
    """Send releases, save records, and notify and call back for deaths; False if any of this has to be done again.

    A release that the queue can never take becomes a DEAD record. If the queue refuses a release for now, the answer is
    False, as it is if a record or a callback is not certain.
    """
    world = visit.world
    now = world.clock.now()
    refused = world.releases.send(releases, now) if releases else ()
    unsendable = [(releases[refusal.index], refusal.reason) for refusal in refused if refusal.permanent]
    records += [_dead(world, release, f"it cannot be released: {reason}") for release, reason in unsendable]
    saved = world.executions.save([(None, record) for record in records]) if records else ()
    notify_dead(world, [record for record, one in zip(records, saved, strict=True) if one.ok])
    visit.report.released += len(releases) - len(refused)
    visit.report.dead += sum(record.state is State.DEAD for record in records)
    visit.uncommitted += len(releases)
    stored = [record if one.ok else one.actual for record, one in zip(records, saved, strict=True)]
    ended = [(release, stored[index - len(unsendable)]) for index, (release, _) in enumerate(unsendable)]
    uncertain = call_back(world, ended)
    return all(r.permanent for r in refused) and not any(one.unavailable for one in saved) and not uncertain


def _skip(visit: Visit, stretches: Sequence[Stretch]) -> bool:
    """Record skipped fires; False if it is not certain that all of them are recorded."""
    with tolerated(visit.world, log, "not recorded as skipped: %s", {"action": "skipped_not_recorded"}):
        visit.report.skipped += record_skipped(visit.world, stretches)
        return True
    return False


def _dead(world: World, release: Release, reason: str) -> Execution:
    now = world.clock.now()
    return plan_death(release, None, reason, now, world.execution_expires_at(now))


def expire_releases(world: World, releases: Sequence[Release]) -> tuple[list[Release], int]:
    """End releases that come too late as EXPIRED; returns the others, which are to be sent, and how many ended.

    A late release that has a record already, or could not get one, is sent all the same: its claim will decide.
    """
    now = world.clock.now()
    late = []
    for release in releases:
        # Where this cannot be told the release is sent, and its deliverer decides.
        with tolerated(world, log, "expiry not judged: %s", {"action": "expiry_not_judged"}):
            late += [release] * is_expired(release.occurrence, now)
    if not late:
        return list(releases), 0
    expires_at = world.execution_expires_at(now)
    saves = world.executions.save([(None, expired_execution(release, now, expires_at)) for release in late])
    ended = {id(release) for release, saved in zip(late, saves, strict=True) if saved.ok}
    return [release for release in releases if id(release) not in ended], len(ended)
