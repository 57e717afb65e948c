"""What the API is told of how attempts ended: by ten, and again until it has taken each.

How it fails. A call has no answer, or an item is `unavailable`: it is sent again, as the same report under the same
token is taken once only. An item is `stale`: somebody else has the attempt, and nothing was changed. A call is refused
for one item's fault: each of its items is sent alone, and the faulty one is told as a failure. The worker dies: its
claims end, and the attempts are retried as WORKER_LOST.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, NamedTuple

from clockwork_client.errors import ClockworkError, Refused, TooManyRequests
from clockwork_client.worker.attempt import Attempt
from clockwork_client.worker.calls import MOST_OUTCOMES, Calls
from clockwork_client.worker.clock import Clock
from clockwork_client.worker.desk import Desk

log = logging.getLogger(__name__)

#: The most bytes of a result or an error.
LARGEST = 32_768
#: So long (s) a report waits for others to share its call.
LINGER = 0.01
#: So long (s) after its claim is over a report is still sent: until then somebody may not have taken the work.
_LATE_SECONDS = 60.0
_THREADS = 2
_AGAIN_SECONDS = 0.5


class _Report(NamedTuple):
    attempt: Attempt
    outcome: dict[str, Any]


class Reports:
    """Sends outcomes in threads of its own."""

    def __init__(self, desk: Desk, calls: Calls, clock: Clock) -> None:
        self._desk = desk
        self._calls = calls
        self._clock = clock
        self._waiting: SimpleQueue[_Report | None] = SimpleQueue()
        self._threads = [
            Thread(target=self._run, name=f"clockwork-reports-{number}", daemon=True) for number in range(_THREADS)
        ]

    def start(self) -> None:
        """Begin."""
        for thread in self._threads:
            thread.start()

    def put(self, attempt: Attempt, outcome: dict[str, Any]) -> None:
        """Tell how an attempt ended. It stays on the desk, and is beaten, until the API has taken it."""
        self._waiting.put(_Report(attempt, outcome))

    def stop(self) -> None:
        """End; what was not taken by then is not told."""
        for _ in self._threads:
            self._waiting.put(None)
        for thread in self._threads:
            thread.join(timeout=5)

    def _run(self) -> None:
        while (first := self._waiting.get()) is not None:
            batch, is_last = self._with_others(first)
            try:
                self._tell(batch)
            except Exception:
                log.exception("outcomes could not be told")
                self._again(batch)
            if is_last:
                self._waiting.put(None)

    def _with_others(self, first: _Report) -> tuple[list[_Report], bool]:
        batch = [first]
        try:
            while len(batch) < MOST_OUTCOMES:
                report = self._waiting.get(timeout=LINGER)
                if report is None:
                    return batch, True
                batch.append(report)
        except Empty:
            pass
        return batch, False

    def _tell(self, batch: Sequence[_Report]) -> None:
        try:
            answers = self._calls.report([{"token": one.attempt.token, **one.outcome} for one in batch])
        except TooManyRequests:
            self._again(batch)
        except Refused as error:
            self._apart(batch, error)
        except ClockworkError as error:
            log.warning("%d outcomes have no certain answer: %s", len(batch), error)
            self._again(batch)
        else:
            for report, answer in zip(batch, answers, strict=True):
                self._take(report, answer)

    def _apart(self, batch: Sequence[_Report], error: Refused) -> None:
        """A fault of one outcome refuses a call as a whole: the others go alone, and the faulty one is a failure."""
        if len(batch) > 1:
            for report in batch:
                self._tell([report])
        elif batch[0].outcome["outcome"] == "complete":
            self._tell([_Report(batch[0].attempt, failure(f"the result was refused: {error}", retryable=False))])
        else:
            log.error("the outcome of %s was refused: %s", batch[0].attempt.execution_id, error)
            self._again(batch)

    def _take(self, report: _Report, answer: dict[str, Any]) -> None:
        if answer.get("outcome") in ("ok", "stale"):
            if answer["outcome"] == "stale":
                log.warning("%s ended for somebody else: its outcome counts no more", report.attempt.execution_id)
            self._desk.drop(report.attempt)
        else:
            self._again([report])

    def _again(self, batch: Sequence[_Report]) -> None:
        self._clock.sleep(_AGAIN_SECONDS)
        for report in batch:
            attempt = report.attempt
            if self._clock.now() > min(attempt.lease_until, attempt.deadline_at) + _LATE_SECONDS:
                log.error("the outcome of %s could not be told in time", attempt.execution_id)
                self._desk.drop(attempt)
            else:
                self._waiting.put(report)


def completion(result: Any) -> dict[str, Any]:
    """The outcome of a handler that returned. A result that cannot be kept is a failure that no retry would mend."""
    try:
        size = len(json.dumps(result, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode())
    except (TypeError, ValueError, RecursionError) as error:
        return failure(f"the work is done, and its result is no JSON: {error}", retryable=False)
    if size > LARGEST:
        return failure(f"the work is done, and its result has {size:,} bytes, more than {LARGEST:,}", retryable=False)
    return {"outcome": "complete"} if result is None else {"outcome": "complete", "result": result}


def failure(error: str, *, retryable: bool = True, retry_after: float | None = None) -> dict[str, Any]:
    """The outcome of a handler that failed."""
    cut = error.encode("utf-8", "replace")[:LARGEST].decode("utf-8", "ignore") or "no error was given"
    said: dict[str, Any] = {"outcome": "fail", "error": cut}
    if not retryable:
        said["retryable"] = False
    if retry_after is not None:
        said["retryAfterSeconds"] = retry_after
    return said
