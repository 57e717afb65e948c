"""Read a job's state, its executions, and a client's named jobs, page by page.

A job and its executions are shown only to a caller who may see them. For any other caller they do not exist.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

import msgspec

from clockwork.domain import ids
from clockwork.domain.errors import ExecutionNotFound, Unreadable
from clockwork.domain.executions import Execution
from clockwork.domain.ids import only_execution
from clockwork.domain.named_jobs import NamedJob
from clockwork.flows.access import Caller, KeptJob, decode_anonymous, find_execution, find_life, get_kept_job, may_see
from clockwork.flows.activity.budget import Budget
from clockwork.flows.world import World

log = logging.getLogger(__name__)


class JobView(msgspec.Struct, frozen=True):
    """An anonymous job and its state: SCHEDULED, RELEASED, CANCELLED or the state of its execution."""

    job: KeptJob
    state: str
    last_execution: Execution | None


def view_job(world: World, caller: Caller, job_id: str) -> JobView:
    """The anonymous job with this id, and its state. Raises JobNotFound."""
    job = get_kept_job(world, caller, job_id)
    execution = world.executions.find(job_id, only_execution(job_id, job.occurrence.due_at))
    if execution is not None:
        return JobView(job, str(execution.state), execution)
    if job.cancelled:
        return JobView(job, "CANCELLED", None)
    shard = world.shards.get([job.job_ref.partition_id])[job.job_ref.partition_id]
    return JobView(job, "SCHEDULED" if shard.horizon < job.job_ref.key else "RELEASED", None)


#: At first a page reads so many records, since each may be 400 KB; then four times as many with each call.
READ_FIRST = 10


class ExecutionPage(msgspec.Struct, frozen=True):
    """Executions of a job, newest first. `next_before` asks for the next page; None if there is none."""

    executions: Sequence[Execution]
    next_before: str | None


def list_executions(world: World, caller: Caller, job_id: str, limit: int, before: str | None = None) -> ExecutionPage:
    """A job's executions, newest first, also those of a deleted job whose key was used again.

    Raises JobNotFound, also where neither a row nor a record is left.
    """
    if ids.is_named(job_id):
        find_life(world, caller, job_id)
        return newest(world, job_id, limit, before)
    decode_anonymous(job_id)
    found = world.executions.list(job_id, limit + 1, before)
    # Another client's executions and none at all take the same path: neither answer nor reads tell them apart.
    own = [execution for execution in found if may_see(world, caller, execution)]
    if not own:
        get_kept_job(world, caller, job_id)
    return _page(own, limit)


def newest(world: World, job_id: str, limit: int, before: str | None = None) -> ExecutionPage:
    """Up to `limit` of the newest executions of a named job, those before one if given.

    It ends early with its Budget: a record may be 400 KB.
    """
    found, budget = list[Execution](), Budget(world)
    asked = READ_FIRST
    while len(found) <= limit:
        asked = min(asked, limit + 1 - len(found))
        some = world.executions.list(job_id, asked, before)
        found += some
        if len(some) < asked:
            return ExecutionPage(found, None)
        if not budget.note_read() and len(found) <= limit:
            return ExecutionPage(found, found[-1].execution_id)
        before, asked = found[-1].execution_id, asked * 4
    return _page(found, limit)


def _page(found: Sequence[Execution], limit: int) -> ExecutionPage:
    """A page of up to `limit` executions. `found` was read with one more, which tells whether another page follows."""
    page = found[:limit]
    return ExecutionPage(page, page[-1].execution_id if len(found) > limit else None)


def get_execution(world: World, caller: Caller, execution_id: str) -> Execution:
    """One execution that the caller may see. Raises ExecutionNotFound."""
    _, execution = find_execution(world, caller, execution_id)
    if execution is None:
        raise ExecutionNotFound(execution_id)
    return execution


#: Jobs read at once: at least, and by how much more each time that too few of them pass the filter.
READ_AT_ONCE, GROWTH = 200, 4
#: Jobs read in all for one page. A filter that few jobs pass gets a short page and a token.
MOST_READ = 2_000
#: Bytes of the payloads and definitions that one page reads, to within one job, whether or not it shows them. A page
#: has to cost little of what can be read of the client in a second.
MOST_BYTES = 1_000_000
#: Jobs that cannot be read and that one page names.
MOST_UNREADABLE = 100


class JobPage(msgspec.Struct, frozen=True):
    """Named jobs in the order of their keys. `next_after` asks for the next page; None if there is none.

    `unreadable`: the keys of the jobs on the way that this version cannot read. `read`: how many jobs were read in all.
    """

    jobs: Sequence[NamedJob]
    next_after: str | None
    unreadable: Sequence[str] = ()
    read: int = 0


def list_jobs(
    world: World,
    client_id: str,
    prefix: str | None,
    after_key: str | None,
    limit: int,
    wanted: Callable[[NamedJob], bool],
    most_read: int = MOST_READ,
    budget: Budget | None = None,
) -> JobPage:
    """Up to `limit` of a client's named jobs whose key has the prefix and that `wanted` accepts.

    A page may be short and not the last one. A page ends once `most_read` jobs or MOST_BYTES were read, with its
    Budget, or at MOST_UNREADABLE jobs that cannot be read. A page has looked at all jobs of one read at least, if that
    takes less than half of a call's time. A job that cannot be read is passed and named. Raises Unavailable.
    """
    budget = budget or Budget(world)
    page = _Page(wanted, limit, most_read, budget)
    at_once = max(READ_AT_ONCE, limit)
    while True:
        listed = world.jobs.list(client_id, prefix, after_key, min(at_once, page.left))
        for after_key, job in listed.jobs:
            page.add(after_key, job)
            if page.is_full:
                return page.ending(client_id, after_key)
        if not listed.more or not budget.note_read():
            return page.ending(client_id, after_key if listed.more else None)
        at_once *= GROWTH


class RunPage(msgspec.Struct, frozen=True):
    """The runs of some named jobs, the latest due first. `next_after` asks for those of the jobs behind them.

    `complete_from` (ms): of these jobs no run that was due then or later is missing. `unreadable`: the keys of jobs
    whose row or runs this version cannot read. `read`: how many jobs were looked at.
    """

    runs: Sequence[Execution]
    next_after: str | None
    complete_from: int
    read: int
    unreadable: Sequence[str] = ()


#: The jobs whose runs one page looks for, and the runs that it reads of each.
MOST_JOBS_OF_RUNS, MOST_RUNS_OF_JOB = 400, 100


def list_runs(
    world: World,
    client_id: str,
    prefix: str | None,
    after_key: str | None,
    limit: int,
    wanted: Callable[[NamedJob], bool],
    is_meant: Callable[[Execution], bool],
    from_at: int,
    to_at: int,
    budget: Budget,
) -> RunPage:
    """Up to `limit` runs of a client's named jobs that were due from `from_at` to `to_at` (ms), by one query a job.

    It looks at the jobs in the order of their keys, until its Budget is spent: then the page is short and not the last.
    A page has looked at one job at least, if there is one. Raises Unavailable.
    """
    most = MOST_JOBS_OF_RUNS
    listed = list_jobs(world, client_id, prefix, after_key, most, wanted, most, budget)
    found: list[Execution] = []
    unreadable, complete_from, next_after, read = list(listed.unreadable), from_at, listed.next_after, 0
    for job in listed.jobs:
        if not budget.note_read() and read:
            next_after = listed.jobs[read - 1].job_key
            break
        read += 1
        try:
            runs, cut_at = _runs_between(world, job, from_at, to_at)
        except Unreadable:
            unreadable.append(job.job_key)
            continue
        found += filter(is_meant, runs)
        complete_from = max(complete_from, cut_at)
    found.sort(key=lambda one: (one.due_at, one.execution_id), reverse=True)
    if len(found) > limit:
        complete_from = max(complete_from, found[limit - 1].due_at)
    return RunPage(found[:limit], next_after, complete_from, read, unreadable)


def _runs_between(world: World, job: NamedJob, from_at: int, to_at: int) -> tuple[Sequence[Execution], int]:
    """The latest runs of a job between two instants (ms), and from when on none of them is missing."""
    # No executionId of a later instant sorts before this text.
    behind = f"{job.job_id}.{to_at + 1:013d}"
    runs = world.executions.list(job.job_id, MOST_RUNS_OF_JOB, behind)
    within = [one for one in runs if one.due_at >= from_at]
    return within, within[-1].due_at if len(within) == MOST_RUNS_OF_JOB else from_at


class _Page:
    """A page of named jobs as it fills."""

    def __init__(self, wanted: Callable[[NamedJob], bool], limit: int, most_read: int, budget: Budget) -> None:
        self._wanted = wanted
        self._limit = limit
        self._most_read = most_read
        self._budget = budget
        self._found: list[NamedJob] = []
        self._unreadable: list[str] = []
        self._read = self._bytes = 0

    def add(self, job_key: str, job: NamedJob | Unreadable) -> None:
        self._read += 1
        if isinstance(job, Unreadable):
            self._unreadable.append(job_key)
            return
        self._bytes += len(job.definition.payload.body) + len(job.as_sent)
        if self._wanted(job):
            self._found.append(job)

    @property
    def left(self) -> int:
        return self._most_read - self._read

    @property
    def is_full(self) -> bool:
        if len(self._found) == self._limit or self._read >= self._most_read:
            return True
        return self._bytes >= MOST_BYTES or len(self._unreadable) == MOST_UNREADABLE or self._budget.is_late

    def ending(self, client_id: str, next_after: str | None) -> JobPage:
        if self._unreadable:
            extra = {"action": "jobs_unreadable", "clientId": client_id, "jobKeys": self._unreadable}
            log.warning("%d jobs cannot be read, and are not listed", len(self._unreadable), extra=extra)
        return JobPage(self._found, next_after, self._unreadable, self._read)
