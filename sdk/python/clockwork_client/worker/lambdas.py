"""A Lambda function as a worker: the target of jobs with `completion=callback()`, which reports by itself.

from clockwork_client.worker.lambdas import completes

@completes()
def lambda_handler(payload, ctx):
    ctx.heartbeat(progress=0.5)
    return {"pages": 12}

The target of its jobs is `lambda_function(arn)`: Clockwork does not wait for the end of the function.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from clockwork_client.client import Clockwork
from clockwork_client.errors import Conflict
from clockwork_client.worker.attempt import Cancelled, Lost
from clockwork_client.worker.context import message_of, progress_of
from clockwork_client.worker.fail import Fail
from clockwork_client.worker.logs import logger
from clockwork_client.worker.outcomes import completion, failure, text_of

log = logger(__name__)


class Delivered:
    """The attempt that an invocation is for."""

    def __init__(self, cw: Clockwork, event: Mapping[str, Any]) -> None:
        self._cw = cw
        self._token = str(event["token"])
        self.execution_id = str(event["executionId"])
        self.job_id = str(event["jobId"])
        self.attempt = int(event["attempt"])
        #: The discovery of a heartbeat, a lost claim or a cancel: nothing else tells of either earlier.
        self.is_lost = self.is_cancelled = False

    def heartbeat(self, progress: float | None = None, message: str | None = None) -> None:
        """Send a heartbeat. The API expects one within each `heartbeatSeconds` of the job.

        Raises Lost or Cancelled. Raises TypeError or ValueError for wrong values, as a worker's `Context.heartbeat`
        does.
        """
        progress, message = progress_of(progress), message_of(message)
        try:
            at_work = self._cw.executions.heartbeat(self.execution_id, self._token, progress=progress, message=message)
        except Conflict as error:
            self.is_lost = True
            raise Lost(str(error)) from error
        if at_work.cancel_requested:
            self.is_cancelled = True
            raise Cancelled("a cancel was asked for")

    def report(self, outcome: Mapping[str, Any]) -> None:
        """Tell how the attempt ended, unless it is somebody else's by now."""
        executions, which = self._cw.executions, (self.execution_id, self._token)
        try:
            if outcome["outcome"] == "complete":
                executions.complete(*which, outcome.get("result"))
            elif outcome["outcome"] == "cancelled":
                executions.cancelled(*which)
            else:
                later = outcome.get("retryAfterSeconds")
                retryable = outcome.get("retryable")
                executions.fail(*which, outcome["error"], retryable=retryable, retry_after_seconds=later)
        except Conflict:
            log.warning("%s ended for somebody else: its outcome counts no more", self.execution_id)


def completes(clockwork: Clockwork | None = None) -> Callable[[Callable[..., Any]], Callable[..., None]]:
    """Make a Lambda handler of a function of the payload and the attempt. Its result or exception is reported.

    `clockwork` is made of the environment unless given; the function's role has to be among the client's principals.
    The handler itself raises only if the report cannot be made: Lambda then invokes it again, and a stale attempt ends
    at its first heartbeat.
    """
    made: list[Clockwork] = [] if clockwork is None else [clockwork]

    def decorate(function: Callable[..., Any]) -> Callable[..., None]:
        def handle(event: Mapping[str, Any], _context: Any) -> None:
            if not made:
                made.append(Clockwork())
            delivered = Delivered(made[0], event)
            outcome = _outcome(function, event.get("payload"), delivered)
            if outcome is not None:
                delivered.report(outcome)

        return handle

    return decorate


def _outcome(function: Callable[..., Any], payload: Any, delivered: Delivered) -> dict[str, Any] | None:
    try:
        return completion(function(payload, delivered))
    except Lost as error:
        # The function may raise this and the next one by itself, of which no heartbeat has told anything.
        return None if delivered.is_lost else failure(f"Lost: {text_of(error)}")
    except Cancelled as error:
        return {"outcome": "cancelled"} if delivered.is_cancelled else failure(f"Cancelled: {text_of(error)}")
    except Fail as error:
        return failure(text_of(error), retryable=error.retryable, retry_after=error.retry_after)
    except Exception as error:
        log.exception("the handler failed")
        return failure(f"{type(error).__name__}: {text_of(error)}")
