"""What the API shows of jobs, executions and clients. Instants become RFC 3339."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from clockwork.domain.clients import Client
from clockwork.domain.executions import Attempt, Execution, State
from clockwork.domain.instants import to_text
from clockwork.domain.jobs import Payload, RetryPolicy, Target
from clockwork.edge.http.pages import page
from clockwork.flows.requests.cancel import CancelAnswer
from clockwork.flows.requests.create import CreatedJob
from clockwork.flows.requests.read import ExecutionPage, JobView


def created(job: CreatedJob, client_id: str) -> dict[str, Any]:
    """The answer to a create."""
    return {
        "jobId": job.job_id,
        "clientId": client_id,
        "state": "RELEASED" if job.released else "SCHEDULED",
        "dueAt": to_text(job.due_at),
    }


def job(view: JobView) -> dict[str, Any]:
    """A job and where it stands."""
    occurrence = view.job.occurrence
    shown: dict[str, Any] = {
        "jobId": view.job.job_id,
        "clientId": occurrence.client_id,
        "state": view.state,
        "dueAt": to_text(occurrence.due_at),
        "createdAt": to_text(occurrence.created_at),
        "schedule": {"at": to_text(occurrence.due_at)},
        "target": target(occurrence.target),
        "payload": payload(occurrence.payload),
        "retryPolicy": retry_policy(occurrence.retry_policy),
        "record": occurrence.record,
        "tags": occurrence.tags,
    }
    if occurrence.relevancy_window_seconds is not None:
        shown["relevancyWindowSeconds"] = occurrence.relevancy_window_seconds
    if occurrence.ordering_key is not None:
        shown |= {"orderingKey": occurrence.ordering_key, "sequence": occurrence.sequence}
    if occurrence.on_failure is not None:
        shown["onFailure"] = target(occurrence.on_failure)
    if view.last_execution is not None:
        shown["lastExecution"] = execution(view.last_execution)
    return shown


def execution(record: Execution) -> dict[str, Any]:
    """An execution with its attempts, the one under way included."""
    attempts = [_attempt(attempt) for attempt in record.attempts]
    if record.state is State.RUNNING and record.started_at is not None:
        attempts.append({"number": record.attempt, "state": "RUNNING", "startedAt": to_text(record.started_at)})
    shown: dict[str, Any] = {
        "executionId": record.execution_id,
        "jobId": record.job_id,
        "dueAt": to_text(record.due_at),
        "state": str(record.state),
        "attempts": attempts,
    }
    if record.next_attempt_at is not None:
        shown["nextAttemptAt"] = to_text(record.next_attempt_at)
    if record.reason is not None:
        shown["reason"] = record.reason
    if record.skipped is not None:
        stretch = record.skipped
        shown["skipped"] = {"from": to_text(stretch.from_at), "to": to_text(stretch.to_at), "count": stretch.count}
    return shown


def executions(found: ExecutionPage) -> dict[str, Any]:
    """A page of a list."""
    return page(((record.execution_id, execution(record)) for record in found.executions), found.next_before)


def cancel(answer: CancelAnswer, job_id: str) -> dict[str, Any]:
    """The truth about a cancel."""
    return {
        "jobId": job_id,
        "result": str(answer.verdict),
        "reason": answer.reason,
        "executions": [execution(record) for record in answer.executions],
    }


def client(record: Client) -> dict[str, Any]:
    """A client as an admin wrote it."""
    shown: dict[str, Any] = {
        "clientId": record.client_id,
        "state": "PAUSED" if record.paused else "ACTIVE",
        "principals": list(record.principals),
        "record": record.record,
        "signingSecrets": list(record.signing_secrets),
        "allowedQueueArns": list(record.allowed_queue_arns),
        "allowedTopics": list(record.allowed_topics),
        "allowedPrivateTargets": list(record.allowed_private_targets),
        "allowedTargetHosts": list(record.allowed_target_hosts),
        "allowedTargetArns": list(record.allowed_target_arns),
    }
    if record.retry_policy is not None:
        shown["retryPolicy"] = retry_policy(record.retry_policy)
    limits = {
        "relevancyWindowSeconds": record.relevancy_window_seconds,
        "maxRatePerSecond": record.max_rate_per_second,
        "maxConcurrency": record.max_concurrency,
        "createsPerSecond": record.creates_per_second,
        "jobsPerDay": record.jobs_per_day,
        "retentionDays": record.retention_days,
        "deadLetterQueueArn": record.dead_letter_queue_arn,
        "reason": record.pause_reason,
    }
    return shown | {name: value for name, value in limits.items() if value is not None}


def retry_policy(kept: RetryPolicy) -> dict[str, Any]:
    """A retry policy with all its defaults."""
    return camel(kept) | {"retryStatusCodes": list(kept.retry_status_codes)}


def target(kept: Target) -> dict[str, Any]:
    """A target as it was asked for."""
    shown = camel(kept)
    shown.pop("private", None)
    return {name: value for name, value in shown.items() if value not in (None, {})}


def payload(kept: Payload) -> Any:
    """A payload as it was asked for."""
    return kept.body.decode() if kept.is_text else json.loads(kept.body)


def _attempt(attempt: Attempt) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "number": attempt.number,
        "state": str(attempt.state),
        "startedAt": to_text(attempt.started_at),
        "endedAt": to_text(attempt.ended_at),
        "latenessMs": attempt.lateness_ms,
    }
    extras = {"statusCode": attempt.status_code, "error": attempt.error, "responseExcerpt": attempt.response_excerpt}
    return shown | {name: value for name, value in extras.items() if value is not None}


def camel(struct: msgspec.Struct) -> dict[str, Any]:
    """A struct under its wire names, defaults and tag included."""
    config = struct.__struct_config__
    tag = {config.tag_field: config.tag} if config.tag_field else {}
    names = zip(struct.__struct_encode_fields__, struct.__struct_fields__, strict=True)
    return tag | {wire: getattr(struct, name) for wire, name in names}
