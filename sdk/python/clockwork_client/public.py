"""Everything that `clockwork_client` offers; imported when a name of it is first asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clockwork_client.calls import Machine
from clockwork_client.client import Clockwork
from clockwork_client.errors import (
    BadRequest,
    ClockworkError,
    Conflict,
    Fault,
    Invalid,
    InvalidWebhook,
    NotAllowed,
    NotCertain,
    NotConfigured,
    NotFound,
    NotReached,
    Refused,
    TooLarge,
    TooManyRequests,
    UnexpectedAnswer,
)
from clockwork_client.requests import callback, end, job, retry
from clockwork_client.results import Execution, Job
from clockwork_client.targets import (
    ecs,
    eventbridge,
    http,
    kafka,
    kinesis,
    lambda_function,
    pool,
    sns,
    sqs,
    step_functions,
)
from clockwork_client.webhooks import ScheduledContext, scheduled_context, verify_webhook
from clockwork_client.workflows.workflow import Workflow

if TYPE_CHECKING:
    from clockwork_client.asynchronous import AsyncClockwork

__all__ = [
    "AsyncClockwork",
    "BadRequest",
    "Clockwork",
    "ClockworkError",
    "Conflict",
    "Execution",
    "Fault",
    "Invalid",
    "InvalidWebhook",
    "Job",
    "Machine",
    "NotAllowed",
    "NotCertain",
    "NotConfigured",
    "NotFound",
    "NotReached",
    "Refused",
    "ScheduledContext",
    "TooLarge",
    "TooManyRequests",
    "UnexpectedAnswer",
    "Workflow",
    "callback",
    "ecs",
    "end",
    "eventbridge",
    "http",
    "job",
    "kafka",
    "kinesis",
    "lambda_function",
    "pool",
    "retry",
    "scheduled_context",
    "sns",
    "sqs",
    "step_functions",
    "verify_webhook",
]


def __getattr__(name: str) -> Any:
    """The client for asyncio, which few programs use."""
    if name != "AsyncClockwork":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from clockwork_client.asynchronous import AsyncClockwork

    return AsyncClockwork
