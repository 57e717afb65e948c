"""`overlap: skip`: whether an execution of a job is let through, as no other one of it is under way.

How it fails. A deliverer dies behind the turnstile: the message comes back, and finds its own name. Two look at once:
of two claims that look, the one that is due later yields, and one alone replaces the turnstile. The change that made
the job `overlap: skip` dies before it tells how far back all have ended: the looks find out, a bounded number of
records each. Until then an execution of which nothing is known counts as under way. The same holds for a turnstile that
was damaged or has expired. A deliverer dies during an attempt: its execution is under way until its message has come
back and it has ended.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence

import msgspec

from clockwork.domain.errors import Undecodable, readable
from clockwork.domain.executions import Execution
from clockwork.domain.named.overlaps import (
    NOT_KNOWN,
    UNDER_WAY,
    Entrant,
    begun_by,
    ended_before,
    may_run,
    stretch_of,
    turned,
    was_let_through,
)
from clockwork.domain.named_jobs import NamedJob, Turnstile
from clockwork.flows.outages import tolerated
from clockwork.flows.world import World

log = logging.getLogger(__name__)

#: How many executions a look reads at first, and how many more if it finds none under way among these.
FIRST_READ = 10
MOST_READ = 1_000


class _Seen(msgspec.Struct, frozen=True):
    """The result of a look: why the execution is not let through, if so, and before which one all others have ended.

    `stile` is the turnstile, and `found` what a replacement has to find.
    """

    stile: Turnstile | None
    found: object
    why_not: str | None = None
    ended_before: str | None = None


def why_not_through(world: World, entrant: Entrant, job: NamedJob, replans: Iterator[int]) -> str | None:
    """Why the execution is not let through; None if it is: no other one of its job is under way, and it is named.

    `replans`: the replans that are left. Raises Unavailable, and NewerFormat. An execution that no version wrote is not
    under way.
    """
    while True:
        seen = _look(world, entrant, job)
        if seen.why_not is not None or seen.ended_before is None:
            return seen.why_not
        through = turned(job, seen.stile, seen.ended_before, _expires_at(world), entrant.execution_id)
        if world.turnstiles.put(seen.found, through):
            return None
        next(replans)


def look_for_a_way(world: World, entrant: Entrant, job: NamedJob) -> bool:
    """Look as `why_not_through` does, and name nobody; True if nothing is in the way now."""
    return _look(world, entrant, job).why_not is None


def note_ended(world: World, job: NamedJob, under_way: Sequence[Execution]) -> None:
    """Tell the turnstile how far back all have ended, given everything of the job that has not.

    Call this after the row of a job was written that became `overlap: skip`. Whatever had begun before has its record
    by then. An outage leaves it to the looks.
    """
    with tolerated(world, log, "left to the looks: %s", {"action": "overlap_not_noted", "jobId": job.job_id}):
        stile, found = world.turnstiles.get(job.job_id)
        if stile is not None and stile.skips_from >= job.skips_from:
            return
        oldest = sorted(under_way, key=lambda one: one.execution_id)
        ended = ended_before(oldest, "", begun_by(job))
        world.turnstiles.put(found, turned(job, stile, ended, _expires_at(world)))


def _look(world: World, entrant: Entrant, job: NamedJob) -> _Seen:
    """Look for others that are under way. A look that read many records keeps how far it came, if another may."""
    stile, found = world.turnstiles.get(job.job_id)
    if stile is not None and was_let_through(entrant.execution_id, job, stile):
        # Another one may be about to replace its name, having read that it has ended or waits. One write succeeds.
        return _Seen(stile, found, ended_before=stile.ended_before)
    now, is_lost = world.clock.now(), stile is None and found is not None
    stretch = stretch_of(entrant.execution_id, job, stile, is_lost=is_lost)

    def read(first: str, limit: int) -> Sequence[Execution]:
        return () if stretch.is_empty else world.executions.between(job.job_id, first, stretch.last, limit)

    def meets(page: Sequence[Execution]) -> bool:
        judged = ((one, may_run(one, job, stile, is_lost=is_lost)) for one in page)
        return any(entrant.yields_to(one, now, may_run=may) for one, may in judged)

    page = read(stretch.first, FIRST_READ)
    more = len(page) == FIRST_READ
    is_met = meets(page) or _is_last_under_way(world, entrant, stile, page, now)
    is_long = more and not is_met
    if is_long:
        rest = read(page[-1].execution_id, MOST_READ)
        page, more, is_met = [*page, *rest], len(rest) == MOST_READ, meets(rest)
    otherwise = page[-1].execution_id if more else max(stretch.first, stretch.last)
    ended = ended_before(page, entrant.execution_id, otherwise)
    why_not = UNDER_WAY if is_met else NOT_KNOWN if more else None
    if is_long and why_not is not None:
        # Another look may have replaced it meanwhile: then this one has read in vain.
        world.turnstiles.put(found, turned(job, stile, ended, _expires_at(world)))
    return _Seen(stile, found, why_not, ended)


def _is_last_under_way(
    world: World, entrant: Entrant, stile: Turnstile | None, page: Sequence[Execution], now: int
) -> bool:
    """Whether the execution that was let through last has not ended. Mostly it is in the page that was read."""
    if stile is None or stile.last is None or stile.last == entrant.execution_id:
        return False
    # An execution that is due later is in no page: it was started out of order, by hand or in a backfill.
    last = next((one for one in page if one.execution_id == stile.last), None)
    last = last or _found(world, stile.job_id, stile.last)
    return last is not None and entrant.may_wait_for(last, now)


def _found(world: World, job_id: str, execution_id: str) -> Execution | None:
    """The record, if there is one. A record that no version wrote is not under way: nobody can go on with it."""
    stored = world.executions.get([(job_id, execution_id)])[0]
    return None if isinstance(stored, Undecodable) else readable(stored)


def _expires_at(world: World) -> int:
    return world.execution_expires_at(world.clock.now())
