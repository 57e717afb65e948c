"""What is under way of a named job when it is changed: what runs, what waits and goes on, and what is ended at once.

Claims tell what runs. What waits is ended here as a courtesy: its deliverer would end it, too, when it comes due.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import partial

import msgspec

from clockwork.domain.executions import WAITING, Execution, State
from clockwork.domain.fires.chains import release_of
from clockwork.domain.ids import decode_execution
from clockwork.domain.named.endings import ended_at_once
from clockwork.domain.named_jobs import NamedJob
from clockwork.domain.recurrence import Fire
from clockwork.flows.outages import tolerated
from clockwork.flows.records import replace
from clockwork.flows.world import World

log = logging.getLogger(__name__)

#: Executions read at once, about as many as one answer holds. A job's records are read back to the oldest that may
#: still be retried under its retry policy, which may be a million.
PAGE = 1_000


#: An older execution runs only if it was fired again (a backfill, a redrive, a fire that was caught up with). So many
#: pages are read for these: a month's records of a job that fires every four minutes. Older records stay unread.
OLDER_PAGES = 10


class UnderWay(msgspec.Struct, frozen=True):
    """The executions of a job that had not ended when it was changed, as far as their records were read.

    `running`: they have a claim, so an attempt may start. `waiting`: they go on at their time. `ended`: this call ended
    them. `all_seen`: there are no further records.
    """

    running: Sequence[Execution] = ()
    waiting: Sequence[Execution] = ()
    ended: Sequence[Execution] = ()
    all_seen: bool = True


def see_to_older(world: World, job: NamedJob) -> UnderWay:
    """List what is under way of a job, and end at once what its row, as it was just written, does not want any more.

    Call this after the row was written. A deliverer claims first and reads that row last, so either it sees the change,
    or its claim is seen here.
    """
    found, all_seen = _unended(world, job)
    running, waiting, ended = [], [], []
    for execution in found:
        after = _end(world, job, execution)
        if after.state is State.RUNNING:
            running.append(after)
        elif after.state in WAITING:
            waiting.append(after)
        else:
            ended.append(after)
    return UnderWay(running, waiting, ended, all_seen)


def release_parked(world: World, job: NamedJob, waiting: Sequence[Execution]) -> None:
    """Release again what was parked for a host that is not the job's any more: no circuit of the new one knows of it.

    An outage leaves it parked, until the old host recovers. The row stays, and finds the record moved on.
    """
    schedule = [one for one in waiting if decode_execution(one.execution_id).run in job.runs]
    releases = [
        msgspec.structs.replace(
            release_of(job, Fire(one.due_at, one.due_at, 0)), attempt=one.attempt + 1, run_at=world.clock.now()
        )
        for one in schedule
        if one.state is State.PARKED
    ]
    with tolerated(world, log, "not released again: %s", {"action": "parked_not_released", "jobId": job.job_id}):
        refused = world.releases.send(releases, world.clock.now()) if releases else ()
        if refused:
            log.warning("not released again: %s", refused[0].reason, extra={"action": "parked_not_released"})


def _end(world: World, job: NamedJob, execution: Execution) -> Execution:
    """The execution as it stands once it was ended, if it is to end at once. An outage leaves that to its deliverer."""
    extra = {"action": "waiting_not_ended", "executionId": execution.execution_id}
    with tolerated(world, log, "not ended at once: %s", extra):
        planned, stored = replace(world, execution, partial(ended_at_once, job))
        return planned.execution or stored or execution
    return execution


def _unended(world: World, job: NamedJob) -> tuple[Sequence[Execution], bool]:
    """The executions of a job that have not ended by their records, and whether all records were read."""
    oldest_at = world.clock.now() - int(job.definition.retry_policy.max_age_seconds * 1000)
    found: list[Execution] = []
    before: str | None = None
    older_pages = 0
    while older_pages < OLDER_PAGES:
        page = world.executions.list(job.job_id, PAGE, before)
        found += [e for e in page if not e.is_final]
        if len(page) < PAGE:
            return found, True
        before = page[-1].execution_id
        older_pages += page[-1].due_at < oldest_at
    return found, False
