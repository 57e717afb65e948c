"""`overlap: skip`: the record that names the execution of a job that was let through last.

It lies beside the job's executions, under a jobId that no job has, so no list of executions shows it.
"""

from __future__ import annotations

from clockwork.domain.executions import Execution, State
from clockwork.domain.releases import Release

#: The reason in the record of a backfilled fire that waits for another execution of its job to end.
WAITS = "it waits until no other execution of its job is under way"
#: The executionId of the record. No execution has one without a dot.
LAST_THROUGH = "overlap"


def last_through_ref(job_id: str) -> tuple[str, str]:
    """Where the record of a job is."""
    return f"{job_id}.{LAST_THROUGH}", LAST_THROUGH


def last_through(release: Release, before: Execution | None, expires_at: int) -> Execution:
    """The record once the release was let through, in place of the one `before`; its `reason` is the executionId."""
    if before is not None:
        return before.changed(reason=release.execution_id, due_at=release.occurrence.due_at, expires_at=expires_at)
    job_id, execution_id = last_through_ref(release.job_id)
    return Execution(
        job_id=job_id,
        execution_id=execution_id,
        client_id=release.occurrence.client_id,
        due_at=release.occurrence.due_at,
        state=State.SUCCEEDED,
        revision=1,
        expires_at=expires_at,
        reason=release.execution_id,
    )


def is_backfilled(release: Release) -> bool:
    """Whether the release is one of a backfill. It waits for others instead of being skipped, as for a permit."""
    return release.run.startswith("b")


def waits_for_others(execution: Execution) -> bool:
    """Whether an execution waits, and was not let through: so nobody has to wait for it."""
    return execution.state is State.PENDING and execution.reason == WAITS
