"""Release a portion of the rows of a shard: record what ends, send the rest, and move the cursor past what is done."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence

import msgspec

from clockwork.domain import keys
from clockwork.domain.errors import readable
from clockwork.domain.executions import Execution
from clockwork.domain.fires.chains import release_at, run_of
from clockwork.domain.ids import ONLY_RUN
from clockwork.domain.lifecycle.quarantine import QuarantinedFire, Untold, fire_in, tag_of
from clockwork.domain.named_jobs import NamedJob
from clockwork.domain.releases import Refused, Release
from clockwork.domain.storage.rows import UNKNOWN_CLIENT
from clockwork.domain.timeline import Row
from clockwork.flows.access import get_jobs
from clockwork.flows.containment import put_each
from clockwork.flows.outages import tolerated
from clockwork.flows.poll.aside import set_aside, untold_of
from clockwork.flows.poll.burials import bury, expire, is_outage, save_deaths
from clockwork.flows.poll.expand import Silence, Visited, give_up, read_row, visit_rows
from clockwork.flows.poll.looking import Again, Ways
from clockwork.flows.poll.quarantine import keep_aside
from clockwork.flows.poll.sending import Sent, send_at_once
from clockwork.flows.poll.visit import Visit
from clockwork.flows.skipped import record_each_skipped
from clockwork.flows.world import World

log = logging.getLogger(__name__)

#: The chains of a portion are expanded for at least so long (ms), if there are so many.
LEAST_EXPANDING_MS = 2_000
#: Sends the releases of a visit, at once or aligned.
Send = Callable[["Visit", Sequence[Release]], Sent]


def release_portion(visit: Visit, rows: Sequence[Row], until: str) -> str | None:
    """Put the next pointers, record what ends without a release, and pool the rest, which `send_portion` sends.

    Returns None, or `goes_on` if the poller must read again from the cursor.
    """
    now = visit.world.clock.now()
    visited = list(_until_stop(visit, visit_rows(visit.world, rows, until, _limit(visit), now, visit.silence)))
    # The rows behind a chain that goes on have not been visited, whatever becomes of its row below.
    goes_on = visited[-1].goes_on
    _finish(visit, visited, visit.silence)
    visit.pool.add(visited)
    return "goes_on" if goes_on else None


def send_portion(visit: Visit, done: Sequence[Visited], send: Send = send_at_once) -> str | None:
    """Send the releases of rows, and move the cursor past those that are done; returns None, or `stuck`.

    A row of which nothing came is in the quarantine before the cursor passes it.
    """
    sent = _send(visit, done, send)
    passed = keep_aside(visit, sent.passed_of(done), [*(u for one in done for u in one.untold), *sent.untold])
    if passed:
        visit.lease = msgspec.structs.replace(visit.lease, cursor=max(visit.lease.cursor, done[passed - 1].row.key))
    return None if passed == len(done) else "stuck"


def release_kept(visit: Visit, rows: Sequence[Row], tag: str) -> Sequence[Again]:
    """Release what the quarantine keeps of rows: all that they hold, or of the only one the execution with the tag.

    Returns for each what has to go into the quarantine again, and whether nothing else is left of it.
    """
    # A fire with a tag was due in time, however late it is read now.
    now = keys.instant_of(rows[0].key) if tag else visit.world.clock.now()
    silence = Silence()
    visited = list(_in_time(visit, visit_rows(visit.world, rows, visit.lease.horizon, _limit(visit), now, silence)))
    if tag:
        (one,) = visited
        if one.is_given_up or one.untold:
            # What raises for all of the row tells nothing of this one.
            return [Again()]
        one.releases = _kept_of(visit.world, one, tag)
        one.records = [record for record in one.records if tag_of(record.execution_id) == tag]
        one.following, one.skipped, one.goes_on = [], [], False
    going_on = [one.goes_on for one in visited]
    _finish(visit, visited, silence)
    sent = _send(visit, visited, send_at_once)
    answers = []
    for index, one in enumerate(visited):
        again = [*one.untold, *(untold for untold in sent.untold if untold.key == one.row.key)]
        if going_on[index] and not one.untold:
            # The next pointer, too, may lie behind the cursor.
            again += [_going_on(following, one) for following in one.following]
        answers.append(Again(again, is_done=index < sent.passed))
    return answers + [Again()] * (len(rows) - len(visited))


def _in_time(visit: Visit, visited: Iterator[Visited]) -> Iterator[Visited]:
    """The visited rows whose chains are expanded within LEAST_EXPANDING_MS, the first one whatever its time."""
    until_at = visit.world.clock.now() + LEAST_EXPANDING_MS
    for one in visited:
        yield one
        if visit.world.clock.now() >= until_at:
            return


def end_kept(visit: Visit, row: Row) -> bool:
    """Record a row as DEAD that nobody could read or answer for while it lived; returns whether that is certain."""
    visited = read_row(visit.world, row)
    give_up(visit.world, visited, "nobody could read it, or answer for it, while its row lived")
    _record_deaths(visit, [visited])
    return not visited.untold


#: The ways in which a visit handles the rows in the quarantine.
WAYS = Ways(release_kept, end_kept)


def _going_on(following: Row, visited: Visited) -> Untold:
    client_id = next(iter(visited.client_ids), None)
    return Untold(following.key, "its chain goes on", client_id=client_id, holds=True)


def _kept_of(world: World, visited: Visited, tag: str) -> list[Release]:
    """The release of a row that has the tag, as it was made when it was passed.

    A fire of a named job is released for itself. Its job may be paused by now, or its schedule may not name it any
    more. Then a backfilled one leaves at once: the pace was that of its row. A deleted job has none left.
    """
    fire = fire_in(tag)
    if not visited.pointers or fire is None:
        return [one for one in visited.releases if tag_of(one.execution_id, one.revision) == tag]
    planned = {one.execution_id: one for one in visited.releases if one.of.run != ONLY_RUN}
    job_refs = [(one.client_id, one.job_key) for one in visited.pointers]
    jobs = [readable(job) for job in get_jobs(world, job_refs).values()]
    fires = [_fire_of(job, fire, world.clock.now()) for job in jobs if job is not None and fire.is_of(job)]
    return [planned.get(one.execution_id, one) for one in fires]


def _fire_of(job: NamedJob, fire: QuarantinedFire, now: int) -> Release:
    if fire.run == ONLY_RUN:
        # The look judges it by the revision that released it.
        return release_at(job, fire.due_at).of_its(revision=fire.revision)
    return run_of(job, fire.due_at, max(now, fire.due_at), fire.run)


def _limit(visit: Visit) -> int:
    # In an ordered shard a chain is expanded one fire at a time: another job of its key may be due before the next one.
    return 1 if visit.keeps_order else visit.world.settings.commit_occurrences


def _finish(visit: Visit, visited: Sequence[Visited], silence: Silence) -> None:
    """Do all about rows but their sends. A row about which a store gives no answer is left to the quarantine."""
    # 1. Record what is skipped, before the next pointer is put: a row of the quarantine has none, or whoever changes
    #    its job would take its fires for released.
    _record_skipped(visit, visited, silence)
    # 2. A chain lives on if this visit dies.
    _put_following(visit.world, visited)
    # 3. Record what cannot be read.
    _record_deaths(visit, visited)


def _until_stop(visit: Visit, visited: Iterator[Visited]) -> Iterator[Visited]:
    """The visited rows, up to and including the first one behind which no row may be passed, or time has run out.

    A chain may take a tenth of a second to its next fire, and a portion may have a hundred of them. When a commit is
    due, the visit therefore commits how far it got, and reads again from there; otherwise its lease would end under it.
    However long the read took, there is time for some rows.
    """
    until_at = 0
    for one in visited:
        now = visit.world.clock.now()
        until_at = until_at or max(visit.commits_by, now + LEAST_EXPANDING_MS)
        one.goes_on = one.goes_on or now >= until_at
        yield one
        if one.goes_on:
            return


def _put_following(world: World, read: Sequence[Visited]) -> None:
    """Put the next pointers. A row whose pointer is refused for a reason of its own is given up."""
    following = [(one, row) for one in read for row in one.following]
    if following:
        refused = put_each(world.timeline, world.environment.faults, [row for _, row in following])
        for index, why_not in refused.items():
            give_up(world, following[index][0], f"its next pointer is refused: {why_not}")


def _record_deaths(visit: Visit, read: Sequence[Visited]) -> None:
    """Save the records of rows that cannot be read.

    If the save of a record is not certain, or is refused, the record is left to the quarantine. Where a store gives no
    answer all of the row is, since another of its jobs may be refused at the next try.
    """
    deaths = [(one, record) for one in read for record in one.records]
    saves = save_deaths(visit, [(None, record) for _, record in deaths])
    for (one, record), saved in zip(deaths, saves, strict=True):
        if is_outage(saved) or saved.is_defect:
            execution_id = None if one.is_given_up else record.execution_id
            why_not = saved.unavailable or ""
            one.untold.append(Untold(one.row.key, why_not, execution_id, client_id=_client_in(record)))


def _client_in(record: Execution) -> str | None:
    return None if record.client_id == UNKNOWN_CLIENT else record.client_id


def _record_skipped(visit: Visit, read: Sequence[Visited], silence: Silence) -> None:
    """Record skipped fires. The rows for which that is not certain are left to the quarantine.

    A stretch whose record is refused permanently is logged, and its row is passed. The fires beside a stretch are sent
    later. If this visit dies between, they may be missed when they are read again: then they are recorded behind it.
    """
    stretches = [(one, stretch) for one in read for stretch in one.skipped]
    recorded = record_each_skipped(visit.world, [stretch for _, stretch in stretches])
    visit.report.skipped += recorded.count
    for number, reason in (recorded.uncertain | recorded.refused).items():
        extra = {"action": "skipped_not_recorded", "jobId": stretches[number][1].job.job_id}
        log.warning("not recorded as skipped: %s", reason, extra=extra)
    for number in recorded.uncertain:
        one, stretch = stretches[number]
        silence.note(stretch.job.client_id)
        one.set_aside("its skipped fires are not recorded", stretch.job.client_id, holds=True)
    for one in read:
        held = silence.held_of(one)
        if held is not None and not one.untold:
            # The portion was read before that was known. It goes on in its order behind that row.
            one.set_aside("what is beside it in its order waits", held, holds=True)


class Gone(msgspec.Struct, frozen=True):
    """How many of the rows, from the first one on, may be passed, and what is left of them for the quarantine."""

    passed: int
    untold: Sequence[Untold] = ()

    def passed_of(self, done: Sequence[Visited]) -> Sequence[Row]:
        """The rows that may be passed."""
        return [one.row for one in done[: self.passed]]


def _send(visit: Visit, done: Sequence[Visited], send: Send) -> Gone:
    """Send the releases of rows.

    A release that the queue can never take is recorded as DEAD. A release that the queue refuses for now is set aside,
    or holds up its shard if that keeps an order.
    """
    world = visit.world
    releases = [release for one in done for release in one.releases]
    rows_of = [index for index, one in enumerate(done) for _ in one.releases]
    ended = expire(world, releases)
    visit.report.expired += len(ended)
    places = [index for number, index in enumerate(rows_of) if number not in ended]
    going = _staggered(visit, [release for number, release in enumerate(releases) if number not in ended])
    sent = send(visit, going)
    visit.report.released += len(going) - len(sent.refused) - len(sent.unsent)
    visit.uncommitted += len(going)
    rows = [done[place].row for place in places]
    held, untold = _held(visit, rows, going, sent.refused)
    return Gone(min([len(done), *(places[number] for number in [*sent.unsent, *held])]), untold)


def _held(
    visit: Visit, rows: Sequence[Row], going: Sequence[Release], refused: Sequence[Refused]
) -> tuple[list[int], list[Untold]]:
    """The indexes of refused releases that nothing but their rows holds, and what is left for the quarantine."""
    never = [one for one in refused if one.permanent]
    unburied = bury(visit, [(going[one.index], f"it cannot be released: {one.reason}") for one in never])
    left = [one.index for one in refused if not one.permanent] + [never[number].index for number in unburied.waiting]
    # What can never be sent keeps no order: the shard goes on.
    ends = [never[number] for number in sorted(unburied.refused)]
    untold = [untold_of(rows[one.index], going[one.index], one.reason) for one in ends]
    if visit.keeps_order:
        return left, untold
    left.sort()
    aside = set_aside(visit, [(rows[number], going[number]) for number in left])
    return [left[number] for number in aside.held], [*untold, *aside.untold]


def _staggered(visit: Visit, releases: Sequence[Release]) -> Sequence[Release]:
    # To stagger ordered occurrences would change their order. Each waits for its slot when it is the head of its key.
    if not visit.keeps_order:
        with tolerated(visit.world, log, "herds are not spread: %s", {"action": "herd_not_spread"}):
            return visit.herds.staggered(releases, visit.world.clock.now())
    return releases
