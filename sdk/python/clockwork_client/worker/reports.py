"""What the API is told of how attempts ended: by ten, and again until it has taken each.

How it fails. A call has no answer, or an item is `unavailable`: it is sent again, as the same report under the same
token is taken once only. An item is `stale`: somebody else has the attempt, and nothing was changed. A call is refused
for one item's fault: each of its items is sent alone, and of the faulty one less is told. A call is refused for
anything else, as a signature is while the machine's clock is wrong: it is sent again as it was. The worker dies: its
claims end, and the attempts are retried as WORKER_LOST.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, NamedTuple

from clockwork_client.errors import BadRequest, ClockworkError, Invalid, Refused, TooLarge
from clockwork_client.worker.attempt import Attempt
from clockwork_client.worker.calls import MOST_OUTCOMES, Calls
from clockwork_client.worker.clock import Clock
from clockwork_client.worker.desk import Desk
from clockwork_client.worker.outcomes import is_encodable, lesser

log = logging.getLogger(__name__)

#: So long (s) a report waits for others to share its call.
LINGER = 0.01
#: So long (s) after its claim is over a report is still sent: until then somebody may not have taken the work.
_LATE_SECONDS = 60.0
#: What refuses a call for its body. Any other refusal is of who asks, or of how it came here, and may pass.
_OF_THE_BODY = (BadRequest, TooLarge, Invalid)
_THREADS = 2
_AGAIN_SECONDS = 0.5


class _Report(NamedTuple):
    attempt: Attempt
    outcome: dict[str, Any]

    def less(self, why: str) -> _Report:
        """The report that tells less, as this one cannot be taken; itself if there is no such."""
        outcome = lesser(self.outcome, why)
        return self if outcome is None else _Report(self.attempt, outcome)


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
        if left := self._untold(batch):
            self._again(left)

    def _untold(self, batch: Sequence[_Report]) -> list[_Report]:
        """Send outcomes; those that have to be sent again, in the form in which they may be taken."""
        try:
            answers = self._calls.report([{"token": one.attempt.token, **one.outcome} for one in batch])
        except _OF_THE_BODY as error:
            return self._apart(batch, error)
        except ClockworkError as error:
            log.warning("%d outcomes have no certain answer: %s", len(batch), error)
            return list(batch)
        except Exception:
            # Credentials that cannot be renewed, or an outcome that was changed since.
            log.exception("%d outcomes could not be sent", len(batch))
            return [one if is_encodable(one.outcome) else one.less("it cannot be encoded") for one in batch]
        return [one for one, answer in zip(batch, answers, strict=True) if not self._is_taken(one.attempt, answer)]

    def _apart(self, batch: Sequence[_Report], error: Refused) -> list[_Report]:
        """A fault of one outcome refuses a call as a whole: the others go alone, and of the faulty one less is told."""
        if len(batch) > 1:
            return [left for report in batch for left in self._untold([report])]
        (report,) = batch
        log.error("the outcome of %s was refused: %s", report.attempt.execution_id, error)
        less = report.less(str(error))
        return [report] if less is report else self._untold([less])

    def _is_taken(self, attempt: Attempt, answer: dict[str, Any]) -> bool:
        if answer.get("outcome") not in ("ok", "stale"):
            return False
        if answer["outcome"] == "stale":
            log.warning("%s ended for somebody else: its outcome counts no more", attempt.execution_id)
        self._desk.drop(attempt)
        return True

    def _again(self, batch: Sequence[_Report]) -> None:
        self._clock.sleep(_AGAIN_SECONDS)
        for report in batch:
            attempt = report.attempt
            if self._clock.now() > min(attempt.lease_until, attempt.deadline_at) + _LATE_SECONDS:
                log.error("the outcome of %s could not be told in time", attempt.execution_id)
                self._desk.drop(attempt)
            else:
                self._waiting.put(report)
