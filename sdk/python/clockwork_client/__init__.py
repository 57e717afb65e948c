"""The client of Clockwork, a durable job scheduler.

from clockwork_client import Clockwork, http

cw = Clockwork()
cw.schedule(http("https://example.com/hook"), {"order": 17}, in_=300)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clockwork_client.version import __version__ as __version__

if TYPE_CHECKING:
    from clockwork_client.public import *

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
    """A name of `public`.

    A program that imports one part of this package, as the command does, loads that part only.
    """
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from clockwork_client import public

    return getattr(public, name)


def __dir__() -> list[str]:
    return __all__
