"""Read a job's state, its executions, and a client's named jobs, page by page.

A job and its executions are shown only to a caller who may see them. For any other caller they do not exist.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from clockwork.domain import ids
from clockwork.domain.errors import ExecutionNotFound
from clockwork.domain.executions import Execution
from clockwork.domain.ids import only_execution
from clockwork.domain.named_jobs import NamedJob
from clockwork.flows.access import Caller, KeptJob, decode_anonymous, find_execution, get_kept_job, get_named
from clockwork.flows.world import World


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


class ExecutionPage(msgspec.Struct, frozen=True):
    """Executions of a job, newest first. `next_before` asks for the next page; None if there is none."""

    executions: Sequence[Execution]
    next_before: str | None


def list_executions(world: World, caller: Caller, job_id: str, limit: int, before: str | None = None) -> ExecutionPage:
    """A job's executions, newest first. Raises JobNotFound, also where neither a row nor a record is left."""
    if ids.is_named(job_id):
        get_named(world, caller, job_id)
        return _page(world.executions.list(job_id, limit + 1, before), limit)
    decode_anonymous(job_id)
    found = world.executions.list(job_id, limit + 1, before)
    # Another client's executions and none at all take the same path: neither answer nor reads tell them apart.
    own = [execution for execution in found if caller.may_act_for(execution.client_id)]
    if not own:
        get_kept_job(world, caller, job_id)
    return _page(own, limit)


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


#: Jobs read at once.
READ_AT_ONCE = 200
#: Jobs read in all for one page. A filter that few jobs pass gets a short page and a token.
MOST_READ = 2_000


class JobPage(msgspec.Struct, frozen=True):
    """Named jobs in the order of their keys. `next_after` asks for the next page; None if there is none."""

    jobs: Sequence[NamedJob]
    next_after: str | None


def list_jobs(
    world: World,
    client_id: str,
    prefix: str | None,
    after_key: str | None,
    limit: int,
    wanted: Callable[[NamedJob], bool],
    most_read: int = MOST_READ,
) -> JobPage:
    """Up to `limit` of a client's named jobs whose key has the prefix and that `wanted` accepts.

    A page may be short and not the last one: it ends once `most_read` jobs were read.
    """
    found: list[NamedJob] = []
    read = 0
    while read < most_read:
        jobs = world.jobs.list(client_id, prefix, after_key, READ_AT_ONCE)
        for job in jobs:
            if wanted(job):
                found.append(job)
            after_key = job.job_key
            if len(found) == limit:
                return JobPage(found, after_key)
        read += len(jobs)
        if len(jobs) < READ_AT_ONCE:
            return JobPage(found, None)
    return JobPage(found, after_key)
