"""Ownership: whether an execution is of the client that has the id now, or of one that had it and was deleted."""

from __future__ import annotations

from collections.abc import Sequence

from clockwork.domain import ids
from clockwork.domain.executions import Execution
from clockwork.domain.ids import NamedJobId


def is_of_client_since(since_at: int, execution: Execution) -> bool:
    """Whether an execution belongs to the client that has had its id since `since_at` (ms; 0: no client had it before).

    Without a proof the execution belongs to the client before. The record of a row that could not be read has none.
    """
    if since_at == 0:
        return True
    job = ids.decode_job(execution.job_id)
    if isinstance(job, NamedJobId):
        return job.incarnation > since_at
    return execution.created_at is not None and execution.created_at >= since_at


def told_of_unreadable(since_at: int, job_keys: Sequence[str]) -> Sequence[str]:
    """The keys of unreadable jobs of which a client is told that has had its id since `since_at` (as above).

    Where another client had the id before it is told of none: the job may be the other's, and nothing in it tells. The
    log has all of them.
    """
    return job_keys if since_at == 0 else ()
