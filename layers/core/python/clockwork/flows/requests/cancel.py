"""Cancel an anonymous job or one execution, and answer truthfully whether the cancel came in time."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from clockwork.domain.errors import ExecutionNotFound, JobNotFound, Unavailable
from clockwork.domain.executions import Execution, State
from clockwork.domain.ids import is_node, only_execution
from clockwork.domain.lifecycle.cancels import CancelPlan, Verdict, cancel_record, plan_cancel, plan_unrecorded_cancel
from clockwork.domain.releases import Deliver, Of
from clockwork.domain.requests.trail import Note, unnoted
from clockwork.domain.runs.beginning import is_run
from clockwork.flows.access import Caller, KeptJob, find_execution, get_kept_job
from clockwork.flows.deaths import call_back
from clockwork.flows.graces import watch_graces
from clockwork.flows.records import replace
from clockwork.flows.workflows import late
from clockwork.flows.world import World

#: The time (ms) after a death in which a cancel that finds the death also calls back. Callers repeat a cancel within
#: that time.
CALLED_BACK_WITHIN_MS = 3_600_000


class CancelAnswer(msgspec.Struct, frozen=True):
    """The answer to a cancel: its verdict, and the executions that may still reach the target."""

    verdict: Verdict
    reason: str
    executions: Sequence[Execution] = ()


def cancel_job(world: World, caller: Caller, job_id: str) -> CancelAnswer:
    """Cancel an anonymous job. Raises JobNotFound; Unavailable if the answer is not certain: the caller may repeat."""
    # 1. Find the job, if its row is still kept and the caller may see it.
    job = get_kept_job(world, caller, job_id)
    # 2. Mark the job in its row, so that no poller releases it any more.
    _mark(world, job)
    # 3. The record decides. At level `none`, which keeps none before the first failure, it decides whether a poller may
    #    have read the row before the mark.
    if job.occurrence.record == "none":
        return _cancel_unrecorded(world, job)
    return _cancel_recorded(world, job)[0]


def _mark(world: World, job: KeptJob) -> None:
    """Mark the job as cancelled. The row is never deleted: a repeated create would bring it back."""
    world.timeline.cancel(job.job_ref.partition_id, job.job_ref.key, job.job_ref.element)


def _cancel_unrecorded(world: World, job: KeptJob) -> CancelAnswer:
    shard = world.shards.get([job.job_ref.partition_id])[job.job_ref.partition_id]
    plan = plan_unrecorded_cancel(shard.horizon, job.job_ref.key)
    if plan.verdict is Verdict.TOO_LATE:
        stored = world.executions.find(job.job_id, only_execution(job.job_id, job.occurrence.due_at))
        if stored is not None:
            return _cancel_recorded(world, job, stored)[0]
    return CancelAnswer(plan.verdict, plan.reason)


def _cancel_recorded(world: World, job: KeptJob, stored: Execution | None = None) -> tuple[CancelAnswer, Execution]:
    now = world.clock.now()
    execution_id = only_execution(job.job_id, job.occurrence.due_at)
    ends_at = max(now, job.occurrence.due_at)
    expires_at = world.execution_expires_at(ends_at, job.occurrence.retention_days)
    client_id, due_at = job.occurrence.client_id, job.occurrence.due_at
    created_at = job.occurrence.created_at
    cancelled = cancel_record(job.job_id, execution_id, client_id, due_at, expires_at, now, created_at)
    answer, decided = _resolve(world, cancelled, stored)
    _ensure_callback(world, job, decided, now)
    return answer, decided


def _ensure_callback(world: World, job: KeptJob, stored: Execution, now: int) -> None:
    """Call back for a death that a poller recorded. Raises Unavailable.

    The poller that recorded the death may have died before it called back, and pollers skip a marked row. A death after
    an attempt is a deliverer's, whose message takes care of the callback.
    """
    is_late = now > (stored.end.dead_at or 0) + CALLED_BACK_WITHIN_MS
    if stored.state is not State.DEAD or stored.attempts or is_late:
        return
    release = Deliver(Of(job.job_id), job.occurrence, job.occurrence.due_at)
    for refused in call_back(world, [(release, stored)]):
        if not refused.permanent:
            raise Unavailable(f"the callback was not placed: {refused.reason}")


def _resolve(world: World, cancelled: Execution, stored: Execution | None) -> tuple[CancelAnswer, Execution]:
    plan, stored = replace(world, stored, lambda met: plan_cancel(met, cancelled))
    assert stored is not None, "a cancel of what has no record makes one"
    if is_run(stored):
        return _stop(world, plan, stored)
    if stored.state is State.RUNNING:
        watch_graces(world, *(([stored], []) if plan.execution is not None else ([], [stored])))
    if is_node(stored.job_id) and stored.is_final:
        late.nudge(world, [stored])
    return CancelAnswer(plan.verdict, plan.reason, [stored] if plan.verdict is not Verdict.CANCELLED else []), stored


def _stop(world: World, plan: CancelPlan, run: Execution) -> tuple[CancelAnswer, Execution]:
    """Stop a run of a workflow. The answer lists it with its nodes that still run; if none does, it has ended."""
    running = late.stop(world, [run])
    run = world.executions.find(run.job_id, run.execution_id) or run
    if run.state is State.CANCELLED:
        return CancelAnswer(Verdict.CANCELLED, "none of its nodes was under way"), run
    return CancelAnswer(plan.verdict, plan.reason, [run, *running]), run


def cancel_execution(
    world: World, caller: Caller, execution_id: str, note: Note = unnoted
) -> tuple[CancelAnswer, Execution]:
    """Cancel one execution; returns the answer and the execution's record as it stands then.

    An anonymous job has one execution only, so this one can be cancelled before it has a record. `note` is called
    before anything is written. Raises
    ExecutionNotFound; Unavailable if the answer is not certain: the caller may repeat.
    """
    job_id, stored = find_execution(world, caller, execution_id)
    if stored is None:
        return _cancel_unseen(world, caller, job_id, execution_id, note)
    if not stored.is_final:
        note(stored.client_id)
    now = world.clock.now()
    expires_at = max(stored.expires_at, world.execution_expires_at(now))
    created_at = stored.created_at
    cancelled = cancel_record(job_id, execution_id, stored.client_id, stored.due_at, expires_at, now, created_at)
    return _resolve(world, cancelled, stored)


def _cancel_unseen(
    world: World, caller: Caller, job_id: str, execution_id: str, note: Note
) -> tuple[CancelAnswer, Execution]:
    """Cancel an execution that has no record which the caller may see.

    Another client's record and no record at all take this same path, so that neither answer nor reads tell them apart.
    """
    try:
        job = get_kept_job(world, caller, job_id)
    except JobNotFound:
        raise ExecutionNotFound(execution_id) from None
    if only_execution(job_id, job.occurrence.due_at) != execution_id or job.occurrence.record == "none":
        raise ExecutionNotFound(execution_id)
    note(job.occurrence.client_id)
    _mark(world, job)
    return _cancel_recorded(world, job)
