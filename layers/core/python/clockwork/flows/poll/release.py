"""Release a portion of the rows of a shard: put the next pointers, send, record what ends, and move the cursor."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from clockwork.domain.executions import Execution
from clockwork.domain.lifecycle.attempts import plan_death
from clockwork.domain.lifecycle.expiry import expired_execution, is_expired
from clockwork.domain.releases import Release
from clockwork.domain.timeline import Row
from clockwork.flows.containment import contained
from clockwork.flows.deaths import call_back, notify_dead
from clockwork.flows.outages import tolerated
from clockwork.flows.poll.expand import Visited, visit_rows
from clockwork.flows.skipped import Stretch, record_each_skipped
from clockwork.flows.world import World
from clockwork.ports import Saved

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
    False, as it is if a store gives no answer about a record or a callback. One that is refused for good is logged.
    """
    world = visit.world
    now = world.clock.now()
    refused = world.releases.send(releases, now) if releases else ()
    visit.report.released += len(releases) - len(refused)
    visit.uncommitted += len(releases)
    given_up = [(releases[one.index], one.reason) for one in refused if one.permanent]
    is_buried = _bury(visit, given_up)
    is_recorded = not any(map(_is_outage, _save(visit, records)))
    return all(one.permanent for one in refused) and is_buried and is_recorded


def _bury(visit: Visit, given_up: Sequence[tuple[Release, str]]) -> bool:
    """Record releases that can never be sent as DEAD, and call back; False if any of this has to be done again."""
    world = visit.world
    deaths: list[tuple[Release, Execution]] = []
    for release, reason in given_up:
        with contained(world.environment.faults, partial(_log_unrecorded, release.execution_id), release.execution_id):
            deaths.append((release, _dead(world, release, f"it cannot be released: {reason}")))
    saves = _save(visit, [dead for _, dead in deaths])
    stored = [(release, dead if one.ok else one.actual) for (release, dead), one in zip(deaths, saves, strict=True)]
    uncalled = call_back(world, stored)
    for one in uncalled:
        extra = {"action": "callback_not_placed", "executionId": stored[one.index][0].execution_id}
        log.warning("a callback was not placed: %s", one.reason, extra=extra)
    return not any(map(_is_outage, saves)) and all(one.permanent for one in uncalled)


def _save(visit: Visit, records: Sequence[Execution]) -> Sequence[Saved]:
    """Save records of deaths, and send their notices. One that is refused for good is logged: its row is passed."""
    saves = visit.world.executions.save([(None, record) for record in records]) if records else ()
    for record, one in zip(records, saves, strict=True):
        if one.is_defect:
            _log_unrecorded(record.execution_id, one.unavailable or "")
    notify_dead(visit.world, [record for record, one in zip(records, saves, strict=True) if one.ok])
    visit.report.dead += len(records)
    return saves


def _is_outage(saved: Saved) -> bool:
    return saved.unavailable is not None and not saved.is_defect


def _log_unrecorded(execution_id: str, why_not: str) -> None:
    extra = {"action": "death_not_recorded", "executionId": execution_id}
    log.error("a death is not recorded, and its row is passed: %s", why_not, extra=extra)


def _skip(visit: Visit, stretches: Sequence[Stretch]) -> bool:
    """Record skipped fires; False if it is not certain that all of them are recorded.

    A stretch whose record is refused for good is logged, and its row is passed.
    """
    recorded = record_each_skipped(visit.world, stretches)
    visit.report.skipped += recorded.count
    for index, reason in (recorded.uncertain | recorded.refused).items():
        extra = {"action": "skipped_not_recorded", "jobId": stretches[index].job.job_id}
        log.warning("not recorded as skipped: %s", reason, extra=extra)
    return not recorded.uncertain


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
