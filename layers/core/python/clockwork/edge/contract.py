"""What each operation takes and answers, for the API's description: one entry for each of `routes.ROUTES`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from clockwork.edge import answers
from clockwork.edge.checks import EdgeModel
from clockwork.edge.client_models import ClientBody
from clockwork.edge.models import CreateBatchBody, CreateJobBody

_JOB = {
    "schedule": {"at": "2026-05-05T10:00:00.250Z"},
    "target": {"type": "http", "url": "https://example.com/hook", "headers": {"x-shop": "7"}},
    "payload": {"order": 17},
    "tags": {"team": "billing"},
}
_MESSAGE = {
    "schedule": {"delaySeconds": 30},
    "target": {"type": "sqs", "queueArn": "arn:aws:sqs:us-east-1:123456789012:orders"},
    "payload": "order 17 is due",
    "record": "none",
}
_CLIENT = {
    "principals": ["arn:aws:iam::123456789012:role/Billing"],
    "signingSecrets": ["clockwork/acme"],
    "allowedQueueArns": ["arn:aws:sqs:us-east-1:123456789012:orders"],
}


@dataclass(frozen=True)
class Operation:
    """One operation. `answer` is None for a document of a form of its own; `parameters` are those outside the path."""

    summary: str
    answer: type[EdgeModel] | None
    status: int = 200
    body: type[EdgeModel] | None = None
    examples: tuple[dict[str, Any], ...] = ()
    parameters: tuple[str, ...] = ()


OPERATIONS = {
    "create_job": Operation(
        "Create a job",
        answers.CreatedJob,
        status=201,
        body=CreateJobBody,
        examples=({"clientId": "acme", **_JOB}, _MESSAGE),
        parameters=("Idempotency-Key",),
    ),
    "create_batch": Operation(
        "Create up to 500 jobs: the good ones are accepted, the bad ones named by their index",
        answers.CreatedBatch,
        body=CreateBatchBody,
        examples=({"clientId": "acme", "jobs": [_JOB, _MESSAGE]},),
        parameters=("Idempotency-Key",),
    ),
    "get_job": Operation("Read a job and where it stands", answers.Job),
    "cancel_job": Operation("Cancel a job, and learn whether that came in time", answers.Cancellation),
    "list_executions": Operation(
        "List a job's executions, newest first", answers.ExecutionPage, parameters=("limit", "nextToken")
    ),
    "get_execution": Operation("Read an execution with its attempts", answers.Execution),
    "put_client": Operation(
        "Create a client, or replace it whole", answers.ShownClient, body=ClientBody, examples=(_CLIENT,)
    ),
    "get_client": Operation("Read a client", answers.ShownClient),
    "get_health": Operation("Ask whether the API answers", answers.Health),
    "get_openapi": Operation("This description", None),
}
