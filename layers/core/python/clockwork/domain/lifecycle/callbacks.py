"""Callbacks: what a client hears of an execution that ended DEAD, and the ordinary job that brings it there.

Only DEAD is called back: EXPIRED, CANCELLED and SKIPPED are what the client itself asked for. A redrive that dies again
is another death, with a callback of its own.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from clockwork.domain import ids, keys
from clockwork.domain.executions import Execution, State
from clockwork.domain.ids import NamedJobId
from clockwork.domain.instants import to_text
from clockwork.domain.jobs import HttpTarget, Occurrence, Payload, RetryPolicy
from clockwork.domain.releases import Release
from clockwork.domain.storage.rows import row_of_job
from clockwork.domain.timeline import Row


def is_called_back(release: Release, stored: Execution) -> bool:
    """Whether what is stored of a release asks for a callback."""
    return stored.state is State.DEAD and release.occurrence.on_failure is not None


def callback_row(release: Release, dead: Execution, policy: RetryPolicy, expires_at: int) -> Row:
    """The row of the callback of a release that is called back: an anonymous job, due when the execution died.

    Shard and key derive from the record, so a repeat is the same job, also of a message from another shard, as a run by
    hand has one that is repeated after a change. It is recorded whatever the level of its cause, so that its repeats
    are absorbed, and has no callback of its own.
    """
    cause = release.occurrence
    target = cause.on_failure
    assert target is not None, "asked for"
    # A record of an older version has no instant of its death.
    at = dead.due_at if dead.dead_at is None else dead.dead_at
    occurrence = Occurrence(
        client_id=cause.client_id,
        due_at=at,
        created_at=at,
        target=target,
        payload=Payload(json.dumps(facts_of(dead, cause.tags), separators=(",", ":")).encode()),
        retry_policy=policy,
        signing_secrets=cause.signing_secrets if isinstance(target, HttpTarget) else (),
        tags=cause.tags,
        retention_days=cause.retention_days,
    )
    # A record of an older version has no shard of its death either.
    partition_id = _partition_of(dead.dead_shard or release.shard)
    return row_of_job(partition_id, ids.derive("callback", dead.execution_id), occurrence, expires_at)


def facts_of(dead: Execution, tags: Mapping[str, str]) -> dict[str, Any]:
    """What a client is told of a dead execution: whose it is, when it was due, how it failed. Never its payload."""
    job = ids.decode_job(dead.job_id)
    last = dead.attempts[-1] if dead.attempts else None
    return {
        "executionId": dead.execution_id,
        "jobId": dead.job_id,
        "jobKey": job.job_key if isinstance(job, NamedJobId) else None,
        "clientId": dead.client_id,
        "dueAt": to_text(dead.due_at),
        "state": str(dead.state),
        "reason": dead.reason,
        "attempts": dead.attempt,
        "lastError": None if last is None else last.error,
        "lastStatusCode": None if last is None else last.status_code,
        "tags": dict(tags),
    }


def _partition_of(shard: str) -> str:
    """That shard, or for an ordered one the plain shard of its number: a callback waits for nothing.

    However many shards there are then: it is released by whoever puts it, and a retry of it takes the shard into use.
    """
    return keys.partition_of(keys.index_of(shard)) if keys.is_ordered(shard) else shard
