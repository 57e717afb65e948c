"""Change many named jobs of a client by one call: those whose key has a prefix, or that have a tag.

How it fails. The call dies, or ends early for lack of time: the jobs that it changed stay changed, and the caller goes
on with the same token or the next one. The time, and the bytes that are read, are bounded: the answer to a call that
ended early says where to go on. A job that is as asked for already is answered as a repeat would be. A call that died
between a job's row and the steps behind it is thereby made whole. A job that somebody else changes at that moment, or
of which this version cannot read all, is told of and passed; one that it cannot read at all is named.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from clockwork.domain.errors import Unavailable
from clockwork.domain.named.changes import Change
from clockwork.domain.named_jobs import NamedJob
from clockwork.domain.requests.quotas import AdmitWork
from clockwork.domain.requests.trail import Note
from clockwork.flows.activity.budget import Budget
from clockwork.flows.containment import why
from clockwork.flows.named import write
from clockwork.flows.requests.read import list_jobs
from clockwork.flows.world import World


class Which(msgspec.Struct, frozen=True):
    """Which jobs are meant: those whose key has the prefix, and that `wants` accepts; and the most of one call."""

    prefix: str | None
    wants: Callable[[NamedJob], bool]
    limit: int


class Passed(msgspec.Struct, frozen=True):
    """A job that was not changed, and why."""

    job: NamedJob
    reason: str


class Handled(msgspec.Struct, frozen=True):
    """How many jobs were matched and how many changed. `next_after` asks for those behind it; None: there are none.

    `unreadable`: the keys of those that this version cannot read. `read`: how many were read to find them.
    """

    matched: int
    changed: int
    passed: Sequence[Passed]
    next_after: str | None
    unreadable: Sequence[str] = ()
    read: int = 0


def change_jobs(
    world: World,
    client_id: str,
    which: Which,
    after: str | None,
    change_of: Callable[[NamedJob], Change | None],
    until: int,
    *,
    admit: AdmitWork,
    note: Note,
) -> Handled:
    """Change the jobs that are meant and whose keys are behind `after`, until the clock passes `until` (ms).

    `change_of`: the change of a job; None if it is as asked for already. `admit` is told how many are to be changed
    before anything is written, and raises if the client may not have so many. At least one job is done, if one was
    found. Raises Unavailable if the result is not certain: the caller may repeat.
    """
    budget = Budget(world, until - world.clock.now())
    page = list_jobs(world, client_id, which.prefix, after, which.limit, which.wants, budget=budget)
    planned = [(job, change_of(job)) for job in page.jobs]
    admit(sum(change is not None for _, change in planned))
    matched = changed = 0
    passed: list[Passed] = []
    for job, change in planned:
        if matched and world.clock.now() >= until:
            last = planned[matched - 1][0].job_key
            unreadable = [job_key for job_key in page.unreadable if job_key < last]
            return Handled(matched, changed, passed, last, unreadable, page.read)
        matched += 1
        try:
            changed += _made(world, job, change, note)
        except Unavailable:
            raise
        except Exception as fault:  # noqa: BLE001 - whatever one job raises, the others are changed
            passed.append(Passed(job, why(world.environment.faults, fault, job.job_key)))
    return Handled(matched, changed, passed, page.next_after, page.unreadable, page.read)


def _made(world: World, job: NamedJob, change: Change | None, note: Note) -> bool:
    if change is None:
        write.unchanged(world, job)
        return False
    return write.change(world, job, None, change, note).is_changed
