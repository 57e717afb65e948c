"""After a change: what of a job's old version may still start, told from claims, or from the horizon without them."""

from __future__ import annotations

from collections.abc import Sequence

from clockwork.domain.chains import fire_after, pointer_to
from clockwork.domain.executions import Execution, State
from clockwork.domain.ids import decode_execution
from clockwork.domain.named import NamedJob
from clockwork.flows.world import World

#: Executions read at once, about what one answer holds. A job's records are read back to the oldest that its retry
#: policy lets live, which may be a million.
PAGE = 1_000


def may_still_start(world: World, before: NamedJob, after: NamedJob) -> tuple[Sequence[Execution], bool]:
    """Executions with a claim that is not of the version `after`, and whether there may be others that leave no claim.

    To be asked after the job's row was written: a deliverer claims and only then looks at that row, so either it sees
    the change, or its claim is seen here.
    """
    if before.definition.record == "none":
        return (), _is_behind_horizon(world, before)
    running = _running(world, before)
    return [e for e in running if decode_execution(e.execution_id).run != after.version], False


def _running(world: World, job: NamedJob) -> Sequence[Execution]:
    oldest_at = world.clock.now() - int(job.definition.retry_policy.max_age_seconds * 1000)
    found: list[Execution] = []
    before: str | None = None
    while True:
        page = world.executions.list(job.job_id, PAGE, before)
        found += [e for e in page if e.state is State.RUNNING and e.due_at >= oldest_at]
        if len(page) < PAGE or page[-1].due_at < oldest_at:
            return found
        before = page[-1].execution_id


def _is_behind_horizon(world: World, job: NamedJob) -> bool:
    """Whether the old version had a fire at or before the horizon that its retry policy might still keep alive."""
    horizon = world.shards.get([job.partition_id])[job.partition_id].horizon
    oldest_at = world.clock.now() - int(job.definition.retry_policy.max_age_seconds * 1000)
    pointer = pointer_to(job, fire_after(job, max(job.chain_after_at, oldest_at), 0))
    return pointer is not None and pointer.key <= horizon
