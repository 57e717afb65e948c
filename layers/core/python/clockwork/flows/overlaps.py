"""`overlap: skip`: whether an execution of a job is let through, as no other one of it is under way."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from clockwork.domain.errors import Unavailable, Undecodable, readable
from clockwork.domain.executions import WAITING, Execution, State
from clockwork.domain.lifecycle.attempts import is_claimed
from clockwork.domain.named.overlaps import last_through, last_through_ref, waits_for_others
from clockwork.domain.releases import Release
from clockwork.flows.world import World

#: So many executions before one's own are read to tell whether one is still under way: at first, each time after that,
#: and at most.
EARLIER = 10
MORE_EARLIER = 100
MOST_EARLIER = 1_000


def is_let_through(world: World, release: Release, replans: Iterator[int]) -> bool:
    """Whether no other execution of the release's job is under way; if so, the release is let through, and named.

    One record names the execution that was let through last, replaced by compare-and-set: so of two that start at once,
    or out of order, one goes. It is never unlocked. If the deliverer dies behind it, its next message finds its own
    name. `replans`: the replans that are left. Raises Unavailable, and NewerFormat. An execution that no version wrote
    is not under way.
    """
    while True:
        last = world.executions.find(*last_through_ref(release.job_id))
        if last is not None and last.reason == release.execution_id:
            return True
        if _is_another_under_way(world, release, last):
            return False
        through = last_through(release, last, world.execution_expires_at(world.clock.now()))
        saved = world.executions.save([(last, through)])[0]
        if saved.unavailable is not None:
            raise Unavailable(saved.unavailable)
        if saved.ok:
            return True
        next(replans)


def may_be_let_through(world: World, release: Release) -> bool:
    """Whether `is_let_through` would say yes now. It costs two reads, and names nothing."""
    last = world.executions.find(*last_through_ref(release.job_id))
    if last is not None and last.reason == release.execution_id:
        return True
    return not _is_another_under_way(world, release, last)


def _is_another_under_way(world: World, release: Release, last: Execution | None) -> bool:
    earlier = world.executions.list(release.job_id, EARLIER, release.execution_id)
    return _is_last_under_way(world, release, last, earlier) or _is_earlier_under_way(world, release, earlier)


def _is_under_way(world: World, release: Release, other: Execution) -> bool:
    """Whether another execution stands in the way of the release: it is claimed, or waits.

    Whatever waits of an ordered job comes behind the release, which is the head of their order. If that waited for it
    in turn, neither would ever go.
    """
    is_behind = release.occurrence.ordering_key is not None
    return is_claimed(other, world.clock.now()) or (other.state in WAITING and not is_behind)


def _is_last_under_way(world: World, release: Release, last: Execution | None, earlier: Sequence[Execution]) -> bool:
    """Whether the execution that was let through last has not ended. It is mostly among the `earlier` ones."""
    if last is None or last.reason is None:
        return False
    named = next((one for one in earlier if one.execution_id == last.reason), None)
    # One that is due later is not: it was started out of order, by hand or in a backfill.
    named = named or _found(world, release.job_id, last.reason)
    return named is not None and _is_under_way(world, release, named)


def _found(world: World, job_id: str, execution_id: str) -> Execution | None:
    """The record, if there is one. What no version wrote tells of nothing under way: nobody can go on with it."""
    stored = world.executions.get([(job_id, execution_id)])[0]
    return None if isinstance(stored, Undecodable) else readable(stored)


def _is_earlier_under_way(world: World, release: Release, earlier: Sequence[Execution]) -> bool:
    """Whether an earlier execution has not ended: one that was let through before the job became `overlap: skip`."""
    at_once = looked_at = EARLIER
    while not any(_is_under_way(world, release, one) and not waits_for_others(one) for one in earlier):
        if len(earlier) < at_once or not _may_hide_one(earlier[-1]) or looked_at >= MOST_EARLIER:
            return False
        # Executions that were skipped since then, or wait, may hide the running one because of which they do.
        at_once = MORE_EARLIER
        earlier = world.executions.list(release.job_id, at_once, earlier[-1].execution_id)
        looked_at += at_once
    return True


def _may_hide_one(execution: Execution) -> bool:
    return execution.state is State.SKIPPED or waits_for_others(execution)
