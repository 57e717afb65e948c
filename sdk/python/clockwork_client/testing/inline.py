"""Run one handler of a pool with a context of the test's own: no API, no queue, no time."""

from __future__ import annotations

from datetime import datetime, timezone
from threading import Event
from typing import Any

from clockwork_client.testing.workers import called
from clockwork_client.worker.attempt import Attempt, Checkpoint, Lost
from clockwork_client.worker.context import Context
from clockwork_client.worker.pool import Pool

_START = datetime(2026, 1, 1, tzinfo=timezone.utc)


class _Still:
    """A clock that stands still."""

    def now(self) -> float:
        return 0.0

    def wait(self, event: Event, seconds: float) -> bool:  # noqa: ARG002 - no time passes
        return event.is_set()

    def sleep(self, seconds: float) -> None:
        pass


class InlineContext(Context):
    """The context of an attempt that exists in the test only.

    `checkpoints` and `heartbeats` list the handler's calls. `lose` acts like the end of the claim, and `cancel` like a
    cancel: the handler's next call raises.
    """

    def __init__(
        self, handler: str = "handler", payload: Any = None, *, attempt: int = 1, last_checkpoint: Any = None
    ) -> None:
        started = {
            **dict.fromkeys(("executionId", "jobId", "clientId", "token"), "inline"),
            "handler": handler,
            "payload": payload,
            "attempt": attempt,
            "startInMs": 0,
            "leaseInMs": 90_000,
            "deadlineInMs": 3_600_000,
        }
        if last_checkpoint is not None:
            started["checkpoint"] = {"attempt": max(1, attempt - 1), "sequence": 1, "value": last_checkpoint}
        self.checkpoints: list[Any] = []
        self.heartbeats: list[tuple[float | None, str | None]] = []
        super().__init__(Attempt(started, 0.0, 0.0), _Still(), self, _START)

    def heartbeat(self, progress: float | None = None, message: str | None = None) -> None:
        """Note it, and do as the real one does."""
        self.heartbeats.append((progress, message))
        super().heartbeat(progress, message)

    def keep(self, attempt: Attempt, checkpoint: Checkpoint) -> None:
        """Note a checkpoint."""
        if attempt.over:
            raise Lost(attempt.over)
        self.checkpoints.append(checkpoint.value)

    def lose(self) -> None:
        """The claim is over."""
        self._attempt.end("the test says so")

    def cancel(self) -> None:
        """A cancel was asked for."""
        self._attempt.ask_to_cancel()


def run_handler(pool: Pool, name: str, payload: Any = None, context: InlineContext | None = None) -> Any:
    """The return value of a handler of the pool. Raises the handler's exception."""
    found = context or InlineContext(name, payload)
    attempt = found._attempt
    attempt.handler, attempt.payload = name, payload
    return called(pool, attempt, found)
