"""Ownership: whether an execution is of the client that has the id now, or of one that had it and was deleted."""

from __future__ import annotations

from clockwork.domain import ids
from clockwork.domain.executions import Execution
from clockwork.domain.ids import NamedJobId


def is_of_client_since(since_at: int, execution: Execution) -> bool:
    """Whether an execution is of the client that has had its id since `since_at` (ms; 0: nobody had it before).

    What nothing proves to be of this client is of the one before. A record that does not tell when its job was created
    is proven by an attempt: nothing of a client starts once it was deleted.
    """
    if since_at == 0:
        return True
    job = ids.decode_job(execution.job_id)
    if isinstance(job, NamedJobId):
        return job.incarnation > since_at
    created_at = execution.created_at
    if created_at is None and execution.occurrence is not None:
        created_at = execution.occurrence.created_at
    if created_at is not None:
        return created_at >= since_at
    starts = (execution.started_at or 0, *(attempt.started_at for attempt in execution.attempts))
    return max(starts) >= since_at
