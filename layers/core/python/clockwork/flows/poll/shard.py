"""Poll a shard: take the lease and publish the horizon, then read, release and commit, page by page.

The lease gives the shard one owner at a time; its epoch is the fencing token. If the poller dies anywhere, the lease
runs out, and the next poller goes on from the cursor. Releases sent since the last commit are then sent a second time
at most, and the deliverer's claim absorbs the duplicates.
"""

from __future__ import annotations

from clockwork.domain import keys
from clockwork.domain.timeline import Page
from clockwork.flows.poll.looking import look_again
from clockwork.flows.poll.pool import Waits
from clockwork.flows.poll.portions import most_in, portions
from clockwork.flows.poll.release import WAYS, release_portion, send_portion
from clockwork.flows.poll.sending import send_aligned
from clockwork.flows.poll.visit import STOP_MARGIN_MS, PollReport, Visit, begin_visit, commit
from clockwork.flows.world import World


def poll_shard(world: World, partition_id: str, deadline_at: int, waits: Waits | None = None) -> PollReport:
    """Release everything in the shard that is due within the lookahead, as far as time allows.

    The poller commits and stops before `deadline_at` (ms). `waits`: it has this in common with other visits of its
    invocation, and `deadline_at` is the end of its share. It may wait beyond it.
    """
    # 1. Take the lease and publish the horizon in one step. From now on a create can see that this poller may have
    #    read past its row.
    visit = begin_visit(world, partition_id, deadline_at, world.settings.lookahead_seconds * 1000, waits)
    if visit is None:
        return PollReport(outcome="no_lease")
    # 2. Look again at what is in the quarantine. Then read, release and commit, page by page, up to the horizon.
    look_again(visit, WAYS)
    visit.report.outcome = drain(visit)
    visit.report.horizon_ahead_ms = keys.instant_of(visit.lease.horizon) - world.clock.now()
    return visit.report


def drain(visit: Visit, *, release_lease: bool = True) -> str:
    """Release everything up to the horizon, page by page; returns why it ended, as in `PollReport.outcome`.

    `release_lease`: release the lease, too, once everything up to the horizon is released.
    """
    while True:
        until = visit.lease.horizon
        page = _read(visit, until)
        try:
            stopped = _release_rows(visit, page, until)
        except Exception:
            # Send what was read before, and commit how far the visit got, or the next poller does all of it again, and
            # fails where this one did; then fail, visibly.
            try:
                _send_pool(visit)
            finally:
                commit(visit, visit.lease.cursor, release_lease=True)
            raise
        if stopped == "goes_on":
            # A chain continues at or before the horizon: commit the cursor where it is, and read again from there.
            if not commit(visit, visit.lease.cursor):
                return "fenced"
        elif stopped is not None:
            # Commit as far as rows are done, and release the lease for the next poller.
            return stopped if stopped == "fenced" or commit(visit, visit.lease.cursor, release_lease=True) else "fenced"
        elif not page.more:
            return "dry" if commit(visit, until, release_lease=release_lease) else "fenced"
        elif visit.pool:
            visit.read_to = page.rows[-1].key
        elif not commit(visit, page.rows[-1].key):
            return "fenced"


def _read(visit: Visit, until: str) -> Page:
    """Read the next page. If that fails, what was read before is sent: the next visit may fail at the same page."""
    try:
        limit = visit.world.settings.commit_occurrences
        return visit.world.timeline.read(visit.lease.partition_id, visit.read_from, until, limit)
    except Exception:
        if visit.pool and _send_pool(visit) != "fenced":
            commit(visit, visit.lease.cursor, release_lease=True)
        raise


def _release_rows(visit: Visit, page: Page, until: str) -> str | None:
    """Release rows in order; returns None when all are released, or pooled if more follow; otherwise why not.

    `visit.lease.cursor` is moved as far as rows are done.
    """
    for some in portions(page.rows):
        stopped = _stops_before(visit, most_in(some)) or release_portion(visit, some, until)
        if stopped != "fenced" and (stopped is not None or not visit.pool.may_wait(visit.world.clock.now())):
            stopped = _send_pool(visit) or stopped
        elif visit.pool.is_full:
            stopped = _send_in_sweep(visit)
        if stopped is not None:
            return stopped
    return None if page.more or not visit.pool else _send_in_sweep(visit)


def _stops_before(visit: Visit, coming: int) -> str | None:
    """Why the visit must not go on with so many more occurrences; commits if a commit is due."""
    now = visit.world.clock.now()
    if now > visit.deadline_at - STOP_MARGIN_MS:
        return "out_of_time"
    if _commit_is_due(visit, now, coming) and not commit(visit, visit.lease.cursor):
        return "fenced"
    return None


def _send_pool(visit: Visit) -> str | None:
    """Send what was read, at once and portion by portion; returns None, or why not all of it.

    Whatever the time, the first portion is sent: a poller that reads slowly gets somewhere with each visit.
    """
    for index, done in enumerate(visit.pool.take()):
        stopped = _stops_before(visit, sum(len(one.releases) for one in done)) if index else None
        stopped = stopped or send_portion(visit, done)
        if stopped is not None:
            return stopped
    return None


def _send_in_sweep(visit: Visit) -> str | None:
    """Send all that was read in one sweep."""
    done = [one for portion in visit.pool.take() for one in portion]
    stopped = send_portion(visit, done, send_aligned)
    return "out_of_time" if stopped is not None and visit.time_left_ms <= 0 else stopped


def _commit_is_due(visit: Visit, now: int, coming: int) -> bool:
    most = visit.world.settings.commit_occurrences
    return (visit.uncommitted > 0 and visit.uncommitted + coming > most) or now >= visit.commits_by
