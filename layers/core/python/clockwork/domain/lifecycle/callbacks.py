"""Callbacks: the facts that a client gets about an execution that ended DEAD, and the ordinary job that delivers them.

Only DEAD has a callback: the client itself asked for EXPIRED, CANCELLED and SKIPPED. A redriven execution that ends
DEAD again has another callback.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from clockwork.domain import ids, keys
from clockwork.domain.executions import Execution, State
from clockwork.domain.ids import NamedJobId
from clockwork.domain.instants import to_text
from clockwork.domain.jobs import Occurrence
from clockwork.domain.policies import RetryPolicy
from clockwork.domain.releases import Release
from clockwork.domain.storage.rows import row_of_job
from clockwork.domain.timeline import Row
from clockwork.targets.message import Payload


def is_called_back(release: Release, stored: Execution) -> bool:
    """Whether the release's execution, as stored, needs a callback: it is DEAD, and its job asks for one."""
    return stored.state is State.DEAD and release.occurrence.on_failure is not None


def callback_row(release: Release, dead: Execution, policy: RetryPolicy, expires_at: int) -> Row:
    """The row of a callback: an anonymous job, due at the instant at which the execution became DEAD.

    `is_called_back` must be true of the release. Shard and key derive from the record, so a repeat is the same job. A
    repeat may even come from a message of another shard, such as a run by hand that is repeated after its job was
    changed. The callback is recorded whatever the record level of its cause, so that a claim absorbs its repeats. It
    has no callback of its own.
    """
    cause = release.occurrence
    target = cause.on_failure
    assert target is not None, "asked for"
    # The record of a row that could not be read tells neither the instant of its death nor its shard.
    at = dead.due_at if dead.end.dead_at is None else dead.end.dead_at
    occurrence = Occurrence(
        client_id=cause.client_id,
        due_at=at,
        created_at=at,
        target=target,
        payload=Payload(json.dumps(facts_of(dead, cause.tags), separators=(",", ":")).encode()),
        retry_policy=policy,
        signing_secrets=cause.signing_secrets if target.is_signed else (),
        tags=cause.tags,
        retention_days=cause.retention_days,
    )
    partition_id = _partition_of(dead.end.dead_shard or release.shard)
    return row_of_job(partition_id, ids.derive("callback", dead.execution_id), occurrence, expires_at)


def facts_of(dead: Execution, tags: Mapping[str, str]) -> dict[str, Any]:
    """The facts of a dead execution for its client: its ids, when it was due, how it failed. Never its payload."""
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
    """The given shard, or for an ordered shard the plain shard of its number: a callback waits for no other job.

    That plain shard need not be in use. The Lambda that puts the callback also releases it, and a retry of the callback
    takes the shard into use.
    """
    return keys.partition_of(keys.index_of(shard)) if keys.is_ordered(shard) else shard
