"""`cw.executions.complete`, `fail`, `cancelled` and `heartbeat`: reports on attempts that end by callback."""

from __future__ import annotations

from typing import Any

from clockwork_client import objects, results
from clockwork_client.calls import segment
from clockwork_client.pages import Resource
from clockwork_client.reports import AtWork


class Reporting(Resource):
    """Reports on attempts that end by callback, under the token that the delivery brought.

    Raises Conflict if the token belongs to no running attempt: the attempt has ended, or another one has begun. A
    report may be repeated: the same report gets the same answer.
    """

    def complete(self, execution_id: str, token: str, result: Any = None) -> results.Execution:
        """The attempt has succeeded. `result` is any JSON value of up to 32 KiB, kept with the execution."""
        return results.Execution(self._say(execution_id, "complete", token, result=result))

    def fail(
        self,
        execution_id: str,
        token: str,
        error: str,
        *,
        retryable: bool | None = None,
        retry_after_seconds: objects.Duration | None = None,
    ) -> results.Execution:
        """The attempt has failed.

        The job's retry policy decides about the next attempt, unless `retryable` is False.
        """
        said = {"error": error, "retryable": retryable, "retry_after_seconds": retry_after_seconds}
        return results.Execution(self._say(execution_id, "fail", token, **said))

    def cancelled(self, execution_id: str, token: str) -> results.Execution:
        """The attempt has stopped, as a cancel asked for. Raises Conflict if nobody has asked for a cancel."""
        return results.Execution(self._say(execution_id, "cancelled", token))

    def heartbeat(
        self, execution_id: str, token: str, *, progress: float | None = None, message: str | None = None
    ) -> AtWork:
        """The attempt is still at work.

        The answer has the end of its lease, and tells whether a cancel was asked for.
        """
        return AtWork(self._say(execution_id, "heartbeat", token, progress=progress, message=message))

    def _say(self, execution_id: str, what: str, token: str, **said: Any) -> Any:
        body = objects.fields(token=token, **said)
        return self._call("POST", f"/v1/executions/{segment(execution_id)}/{what}", body)
