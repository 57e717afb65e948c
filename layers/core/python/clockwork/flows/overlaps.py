"""`overlap: skip`: whether an execution of a job is let through, as no other one of it is under way.

How it fails. If the deliverer dies behind the turnstile, the next one finds the execution's own name when the message
comes back. Of two that look at once, one replaces the turnstile and the other one looks anew. If the change that made
the job `overlap: skip` dies before it tells how far back all have ended, the looks find out, a bounded number of
records each. Until then executions that are not known count as under way. The same holds for a turnstile that was
damaged or has expired.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence

import msgspec

from clockwork.domain.errors import Undecodable, readable
from clockwork.domain.executions import WAITING, Execution
from clockwork.domain.lifecycle.attempts import is_claimed
from clockwork.domain.named.overlaps import NOT_KNOWN, UNDER_WAY, begun_by, stretch_of, turned, waits_for_others
from clockwork.domain.named_jobs import NamedJob, Turnstile
from clockwork.domain.releases import Release
from clockwork.flows.outages import tolerated
from clockwork.flows.world import World

log = logging.getLogger(__name__)

#: A look reads so many executions at first, and so many more if it finds none under way among these.
FIRST_READ = 10
MOST_READ = 1_000


class _Seen(msgspec.Struct, frozen=True):
    """The finding of a look: why the execution is not let through, if so, and before what all have ended.

    `is_long`: it read many records, so that the next look is to go on from there.
    """

    why_not: str | None
    ended_before: str
    is_long: bool = False


def why_not_through(world: World, release: Release, job: NamedJob, replans: Iterator[int]) -> str | None:
    """Why the release is not let through; None if it is: no other execution of its job is under way, and it is named.

    `replans`: the replans that are left. Raises Unavailable, and NewerFormat. An execution that no version wrote is not
    under way.
    """
    while True:
        stile, found = world.turnstiles.get(job.job_id)
        if stile is not None and stile.last == release.execution_id:
            return None
        seen = _look(world, release, job, stile, is_lost=stile is None and found is not None)
        if seen.why_not is not None:
            _keep(world, job, stile, found, seen)
            return seen.why_not
        if world.turnstiles.put(found, turned(job, stile, seen.ended_before, _expires_at(world), release.execution_id)):
            return None
        next(replans)


def may_be_let_through(world: World, release: Release, job: NamedJob) -> bool:
    """Whether `why_not_through` would find nothing now. It names nobody."""
    stile, found = world.turnstiles.get(job.job_id)
    if stile is not None and stile.last == release.execution_id:
        return True
    seen = _look(world, release, job, stile, is_lost=stile is None and found is not None)
    if seen.why_not is not None:
        _keep(world, job, stile, found, seen)
    return seen.why_not is None


def note_ended(world: World, job: NamedJob, under_way: Sequence[Execution]) -> None:
    """Tell the turnstile how far back all have ended, given everything of the job that has not.

    Call this after the row of a job was written that became `overlap: skip`. Whatever had begun before has its record
    by then. An outage leaves it to the looks.
    """
    with tolerated(world, log, "left to the looks: %s", {"action": "overlap_not_noted", "jobId": job.job_id}):
        stile, found = world.turnstiles.get(job.job_id)
        if stile is not None and stile.skips_from == job.skips_from:
            return
        now, is_ordered = world.clock.now(), job.definition.ordering_key is not None
        oldest = sorted(under_way, key=lambda one: one.execution_id)
        ended = _ended_before(oldest, "", begun_by(job), now, is_ordered=is_ordered)
        world.turnstiles.put(found, turned(job, stile, ended, _expires_at(world)))


def _keep(world: World, job: NamedJob, stile: Turnstile | None, found: object, seen: _Seen) -> None:
    """Keep how far a look came that read much. A look that loses to another one has read in vain."""
    if seen.is_long:
        world.turnstiles.put(found, turned(job, stile, seen.ended_before, _expires_at(world)))


def _look(world: World, release: Release, job: NamedJob, stile: Turnstile | None, *, is_lost: bool) -> _Seen:
    own_id, now, is_ordered = release.execution_id, world.clock.now(), release.occurrence.ordering_key is not None
    stretch = stretch_of(own_id, job, stile, is_lost=is_lost)
    is_met = False

    def read(first: str, limit: int) -> Sequence[Execution]:
        nonlocal is_met
        page = world.executions.between(job.job_id, first, stretch.last, limit)
        is_met = is_met or any(_is_in_the_way(one, own_id, now, is_ordered=is_ordered) for one in page)
        return page

    found = [] if stretch.is_empty else list(read(stretch.first, FIRST_READ))
    is_met = is_met or _is_last_under_way(world, release, stile, found, now)
    more, is_long = len(found) == FIRST_READ, False
    if more and not is_met:
        rest = read(found[-1].execution_id, MOST_READ)
        found, more, is_long = [*found, *rest], len(rest) == MOST_READ, True
    otherwise = found[-1].execution_id if more else max(stretch.first, stretch.last)
    ended = _ended_before(found, own_id, otherwise, now, is_ordered=is_ordered)
    why_not = UNDER_WAY if is_met else NOT_KNOWN if more else None
    return _Seen(why_not, ended, is_long)


def _is_last_under_way(
    world: World, release: Release, stile: Turnstile | None, found: Sequence[Execution], now: int
) -> bool:
    """Whether the execution that was let through last has not ended. It is mostly among those that were `found`."""
    if stile is None or stile.last is None:
        return False
    # One that is due later is not: it was started out of order, by hand or in a backfill.
    named = next((one for one in found if one.execution_id == stile.last), None)
    named = named or _found(world, release.job_id, stile.last)
    return named is not None and _is_under_way(named, now, is_ordered=release.occurrence.ordering_key is not None)


def _is_under_way(other: Execution, now: int, *, is_ordered: bool) -> bool:
    """Whether an execution is claimed, or waits.

    An execution that waits for others was not let through, so nobody has to wait for it. Whatever waits of an ordered
    job lies behind the head of their order: if that waited for it in turn, neither would ever go.
    """
    waits = other.state in WAITING and not is_ordered and not waits_for_others(other)
    return is_claimed(other, now) or waits


def _is_in_the_way(other: Execution, execution_id: str, now: int, *, is_ordered: bool) -> bool:
    """Whether an execution is not let through because of the other one.

    Of two that both wait, the one that is due first goes: or neither would.
    """
    if other.execution_id == execution_id or not _is_under_way(other, now, is_ordered=is_ordered):
        return False
    return other.execution_id < execution_id or is_claimed(other, now)


def _ended_before(found: Sequence[Execution], own_id: str, otherwise: str, now: int, *, is_ordered: bool) -> str:
    """Before which executionId nothing is under way but `own_id`, given what was found, oldest first."""
    stays = (one.execution_id for one in found if _is_under_way(one, now, is_ordered=is_ordered))
    return next((execution_id for execution_id in stays if execution_id != own_id), otherwise)


def _found(world: World, job_id: str, execution_id: str) -> Execution | None:
    """The record, if there is one. None if no version wrote it: nobody can go on with that, so it is not under way."""
    stored = world.executions.get([(job_id, execution_id)])[0]
    return None if isinstance(stored, Undecodable) else readable(stored)


def _expires_at(world: World) -> int:
    return world.execution_expires_at(world.clock.now())
