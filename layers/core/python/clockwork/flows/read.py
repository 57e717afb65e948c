"""Someone asks what became of a job: its row and its executions, only ever to whom may see it."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from clockwork.domain import ids
from clockwork.domain.errors import ExecutionNotFound
from clockwork.domain.executions import Execution
from clockwork.domain.ids import InvalidId, only_execution
from clockwork.flows.authorise import Caller
from clockwork.flows.find import KeptJob, decode_anonymous, get_kept_job, get_named
from clockwork.flows.world import World


class JobView(msgspec.Struct, frozen=True):
    """A job and where it stands: SCHEDULED, RELEASED, CANCELLED or the state of its execution."""

    job: KeptJob
    state: str
    last_execution: Execution | None


def view_job(world: World, caller: Caller, job_id: str) -> JobView:
    """A job and where it stands. Raises JobNotFound."""
    job = get_kept_job(world, caller, job_id)
    execution = world.executions.find(job_id, only_execution(job_id, job.occurrence.due_at))
    if execution is not None:
        return JobView(job, str(execution.state), execution)
    if job.cancelled:
        return JobView(job, "CANCELLED", None)
    shard = world.shards.get([job.place.partition_id])[job.place.partition_id]
    return JobView(job, "SCHEDULED" if shard.horizon < job.place.key else "RELEASED", None)


class ExecutionPage(msgspec.Struct, frozen=True):
    """Executions of a job, newest first. `next_before` asks for those that follow, if there are any."""

    executions: Sequence[Execution]
    next_before: str | None


def list_executions(world: World, caller: Caller, job_id: str, limit: int, before: str | None = None) -> ExecutionPage:
    """A job's executions, newest first. Raises JobNotFound, also where neither a row nor a record is left."""
    if ids.is_named(job_id):
        return _list_of_named(world, caller, job_id, limit, before)
    decode_anonymous(job_id)
    found = world.executions.list(job_id, limit + 1, before)
    # Another's executions and none at all take the same way, so that neither answer nor reads tell them apart.
    own = [execution for execution in found if caller.may_act_for(execution.client_id)]
    if not own:
        get_kept_job(world, caller, job_id)
    return _page(own, limit)


def _page(found: Sequence[Execution], limit: int) -> ExecutionPage:
    """A page of what was asked for with one more than fit."""
    page = found[:limit]
    return ExecutionPage(page, page[-1].execution_id if len(found) > limit else None)


def _list_of_named(world: World, caller: Caller, job_id: str, limit: int, before: str | None) -> ExecutionPage:
    get_named(world, caller, job_id)
    return _page(world.executions.list(job_id, limit + 1, before), limit)


def get_execution(world: World, caller: Caller, execution_id: str) -> Execution:
    """One execution that the caller may see. Raises ExecutionNotFound."""
    try:
        job_id = ids.decode_execution(execution_id).job_id
    except InvalidId:
        raise ExecutionNotFound(execution_id) from None
    execution = world.executions.find(job_id, execution_id)
    if execution is None or not caller.may_act_for(execution.client_id):
        raise ExecutionNotFound(execution_id)
    return execution
