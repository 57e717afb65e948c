"""Release a portion of the rows of a shard: record what ends, send the rest, and move the cursor past what is done."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import msgspec

from clockwork.domain import keys
from clockwork.domain.errors import readable
from clockwork.domain.executions import Execution
from clockwork.domain.fires.chains import release_at, run_of
from clockwork.domain.ids import ONLY_RUN
from clockwork.domain.lifecycle.expiry import expired_execution, is_expired
from clockwork.domain.lifecycle.owed import TRIED_FOR_MS, OwedFire, Untold, fires_in, tag_of
from clockwork.domain.named_jobs import NamedJob
from clockwork.domain.releases import Refused, Release
from clockwork.domain.timeline import Row
from clockwork.flows.access import get_jobs
from clockwork.flows.containment import put_each
from clockwork.flows.outages import tolerated
from clockwork.flows.poll.aside import set_aside
from clockwork.flows.poll.burials import Unburied, bury, is_outage, save_deaths
from clockwork.flows.poll.expand import Visited, give_up, visit_rows
from clockwork.flows.poll.owe import owe_passed, pass_by
from clockwork.flows.poll.sending import Sent, send_at_once
from clockwork.flows.skipped import record_each_skipped
from clockwork.flows.world import World

if TYPE_CHECKING:
    from clockwork.flows.poll.shard import Visit

log = logging.getLogger(__name__)

#: The chains of a portion are expanded for at least so long (ms), if there are so many.
LEAST_EXPANDING_MS = 2_000
Tags = frozenset[str] | None
#: Sends the releases of a visit, at once or aligned.
Send = Callable[["Visit", Sequence[Release]], Sent]


def release_portion(visit: Visit, rows: Sequence[Row], until: str) -> str | None:
    """Put the next pointers, record what ends without a release, and pool the rest, which `send_portion` sends.

    Returns None, or why the poller must not read on: `stuck`, or `goes_on` if it must read again from the cursor.
    Nothing behind a row that cannot be passed is sent before it is known that the row cannot be passed.
    """
    if not visit.pool:
        visit.untold.clear()
    visited = list(_until_stop(visit, visit_rows(visit.world, rows, until, _limit(visit), visit.world.clock.now())))
    done, stopped = _done(visit, visited)
    visit.pool.add(done)
    return stopped


def send_portion(visit: Visit, done: Sequence[Visited], send: Send = send_at_once) -> str | None:
    """Send the releases of rows, and move the cursor past those that are done; returns None, or `stuck`."""
    passed = _send(visit, done, send)
    if passed:
        visit.lease = msgspec.structs.replace(visit.lease, cursor=max(visit.lease.cursor, done[passed - 1].row.key))
        owe_passed(visit)
    return None if passed == len(done) else "stuck"


def release_owed(visit: Visit, row: Row, tags: Tags) -> bool:
    """Release what is owed of a row behind the cursor: those of its executions that have the tags, or all if None.

    True once it is seen to, or owed again; False if a store gave no answer.
    """
    now = visit.world.clock.now() if tags is None else keys.instant_of(row.key)
    # A fire that is owed was due in time, however late it is read now.
    visit.untold.clear()
    (visited,) = visit_rows(visit.world, [row], visit.lease.horizon, _limit(visit), now)
    if tags is not None and (visited.is_given_up or visited.untold):
        # What raises for all of the row tells nothing of those that are owed: they stay so, for as long as all others.
        return visit.world.clock.now() >= keys.instant_of(row.key) + TRIED_FOR_MS and _is_passed(visit, row)
    if tags is not None:
        visited.releases = _owed_of(visit.world, visited, tags)
        visited.records = [record for record in visited.records if tag_of(record.execution_id) in tags]
        visited.following, visited.skipped, visited.goes_on = [], [], False
    goes_on, visited.goes_on = visited.goes_on, False
    done, stopped = _done(visit, [visited])
    is_done = send_portion(visit, done) is None and stopped is None
    if is_done and goes_on:
        # The next pointer, too, may lie behind the cursor. None follows if the row was given up.
        visit.untold += [Untold(following.key, "its chain goes on") for following in visited.following]
        owe_passed(visit)
    return is_done


def _is_passed(visit: Visit, row: Row) -> bool:
    pass_by(visit, Untold(row.key, "its row or its job cannot be read"))
    return True


def _owed_of(world: World, visited: Visited, tags: frozenset[str]) -> list[Release]:
    """The releases of a row that are owed, as they were made when they were passed.

    A fire of a named job is released for itself. Its job may be paused by now, or its schedule may not name it any
    more. Then a backfilled one leaves at once: the pace was that of its row. A deleted job has none left.
    """
    now = world.clock.now()
    if not visited.pointers:
        return [one for one in visited.releases if tag_of(one.execution_id, one.revision) in tags]
    planned = {one.execution_id: one for one in visited.releases if one.run != ONLY_RUN}
    # An earlier build owed a backfilled fire by a digest of its id.
    releases = [one for execution_id, one in planned.items() if tag_of(execution_id) in tags]
    owed = fires_in(tags)
    job_refs = [(one.client_id, one.job_key) for one in visited.pointers] if owed else []
    for job in map(readable, get_jobs(world, job_refs).values()):
        fires = [_fire_of(job, fire, now) for fire in owed if job is not None and _is_of(job, fire)]
        releases += [planned.get(one.execution_id, one) for one in fires]
    return releases


def _is_of(job: NamedJob, fire: OwedFire) -> bool:
    return job.is_alive and job.incarnation == fire.incarnation


def _fire_of(job: NamedJob, fire: OwedFire, now: int) -> Release:
    if fire.run == ONLY_RUN:
        # The look judges it by the revision that released it.
        return msgspec.structs.replace(release_at(job, fire.due_at), revision=fire.revision)
    return run_of(job, fire.due_at, max(now, fire.due_at), fire.run)


def _limit(visit: Visit) -> int:
    # In an ordered shard a chain is expanded one fire at a time: another job of its key may be due before the next one.
    return 1 if visit.keeps_order else visit.world.settings.commit_occurrences


def _done(visit: Visit, visited: Sequence[Visited]) -> tuple[list[Visited], str | None]:
    """The rows that are done but for their sends, the first ones, and why the others are not: `stuck` or `goes_on`."""
    # The rows behind a chain that goes on have not been visited, whatever becomes of its row below.
    goes_on = visited[-1].goes_on
    read = visited[:-1] if visited[-1].is_impassable else visited
    # 1. A chain lives on if this visit dies.
    _put_following(visit.world, read)
    # 2. Record what is not sent. From the first row on about which a store gives no answer, nothing is sent either.
    done = list(read[: min([*_record_deaths(visit, read), *_record_skipped(visit, read), len(read)])])
    if len(done) < len(visited):
        return done, "stuck"
    return done, "goes_on" if goes_on else None


def _until_stop(visit: Visit, visited: Iterator[Visited]) -> Iterator[Visited]:
    """The visited rows, up to and including the first one behind which no row may be passed, or time has run out.

    A chain may take a tenth of a second to its next fire, and a portion may have a hundred of them. So the visit
    commits how far it got when a commit is due, and reads again from there, or its lease would end under it. However
    long the read took, there is time for some rows.
    """
    until_at = 0
    for one in visited:
        now = visit.world.clock.now()
        until_at = until_at or max(visit.commits_by, now + LEAST_EXPANDING_MS)
        one.goes_on = one.goes_on or now >= until_at
        yield one
        if one.goes_on or one.is_impassable:
            return


def _put_following(world: World, read: Sequence[Visited]) -> None:
    """Put the next pointers. A row whose pointer is refused for a reason of its own is given up."""
    following = [(one, row) for one in read for row in one.following]
    if following:
        refused = put_each(world.timeline, world.environment.faults, [row for _, row in following])
        for index, why_not in refused.items():
            give_up(world, following[index][0], f"its next pointer is refused: {why_not}")


def _record_deaths(visit: Visit, read: Sequence[Visited]) -> list[int]:
    """Save the records of rows that cannot be read; returns the indexes of those for which that is not certain.

    One that is refused for a reason of its own, or cannot even be made, is owed.
    """
    deaths = [(index, record) for index, one in enumerate(read) for record in one.records]
    saves = save_deaths(visit, [(None, record) for _, record in deaths])
    visit.untold += [Untold(one.row.key, why, name) for one in read for name, why in one.untold.items()]
    for (index, record), saved in zip(deaths, saves, strict=True):
        if saved.is_defect:
            execution_id = None if read[index].is_given_up else record.execution_id
            visit.untold.append(Untold(read[index].row.key, saved.unavailable or "", execution_id))
    return [index for (index, _), saved in zip(deaths, saves, strict=True) if is_outage(saved)]


def _record_skipped(visit: Visit, read: Sequence[Visited]) -> list[int]:
    """Record skipped fires; returns the indexes of the rows for which that is not certain.

    A stretch whose record is refused for good is logged, and its row is passed. The fires beside a stretch are sent
    later. If this visit dies between, they may be missed when they are read again: then they are recorded behind it.
    """
    stretches = [(index, stretch) for index, one in enumerate(read) for stretch in one.skipped]
    recorded = record_each_skipped(visit.world, [stretch for _, stretch in stretches])
    visit.report.skipped += recorded.count
    for number, reason in (recorded.uncertain | recorded.refused).items():
        extra = {"action": "skipped_not_recorded", "jobId": stretches[number][1].job.job_id}
        log.warning("not recorded as skipped: %s", reason, extra=extra)
    return [stretches[number][0] for number in recorded.uncertain]


def _send(visit: Visit, done: Sequence[Visited], send: Send) -> int:
    """Send the releases of rows; returns how many of the rows, from the first one on, may be passed.

    A release that the queue can never take is recorded as DEAD. One that it refuses for now is set aside, or holds up
    its shard if that keeps an order.
    """
    world = visit.world
    releases = [release for one in done for release in one.releases]
    rows_of = [index for index, one in enumerate(done) for _ in one.releases]
    ended = _expire(world, releases)
    visit.report.expired += len(ended)
    places = [index for number, index in enumerate(rows_of) if number not in ended]
    going = _staggered(visit, [release for number, release in enumerate(releases) if number not in ended])
    sent = send(visit, going)
    visit.report.released += len(going) - len(sent.refused) - len(sent.unsent)
    visit.uncommitted += len(going)
    rows = [done[place].row for place in places]
    held = [*sent.unsent, *_held(visit, rows, going, sent.refused)]
    return min([len(done), *(places[number] for number in held)])


def _held(visit: Visit, rows: Sequence[Row], going: Sequence[Release], refused: Sequence[Refused]) -> list[int]:
    """The indexes of refused releases that nothing but their rows holds, so that the cursor may not pass these."""
    never = [one for one in refused if one.permanent]
    unburied = bury(visit, [(going[one.index], f"it cannot be released: {one.reason}") for one in never])
    left = [one.index for one in refused if not one.permanent] + [never[number].index for number in unburied.waiting]
    if visit.keeps_order:
        # What can never be sent keeps no order: it is owed, and the shard goes on.
        for one in _of(never, unburied):
            release = going[one.index]
            visit.untold.append(Untold(rows[one.index].key, one.reason, release.execution_id, release.revision))
        return left
    left = sorted([*left, *(one.index for one in _of(never, unburied))])
    return [left[number] for number in set_aside(visit, [(rows[number], going[number]) for number in left])]


def _of(never: Sequence[Refused], unburied: Unburied) -> list[Refused]:
    return [never[number] for number in sorted(unburied.refused)]


def _staggered(visit: Visit, releases: Sequence[Release]) -> Sequence[Release]:
    # To stagger ordered occurrences would change their order. Each waits for its slot when it is the head of its key.
    if not visit.keeps_order:
        with tolerated(visit.world, log, "herds are not spread: %s", {"action": "herd_not_spread"}):
            return visit.herds.staggered(releases, visit.world.clock.now())
    return releases


def _expire(world: World, releases: Sequence[Release]) -> set[int]:
    """End releases that come too late as EXPIRED; returns their indexes. The others are to be sent.

    A late release that has a record already, or could not get one, is sent all the same: its claim will decide.
    """
    late: list[tuple[int, Execution]] = []
    now = world.clock.now()
    expires_at = world.execution_expires_at(now)
    for index, release in enumerate(releases):
        # Where this cannot be told the release is sent, and its deliverer decides.
        with tolerated(world, log, "expiry not judged: %s", {"action": "expiry_not_judged"}):
            if not release.checks and is_expired(release.occurrence, now):
                late.append((index, expired_execution(release, now, expires_at)))
    saves = world.executions.save([(None, record) for _, record in late]) if late else ()
    return {index for (index, _), saved in zip(late, saves, strict=True) if saved.ok}
