"""Reports outcomes of attempts to the API: ten a call, repeated until the API has taken each.

How it fails. If a call has no answer, or an item is `unavailable`, the report is sent again: the API takes the same
report under the same token once only. If an item is `stale`, another worker has the attempt, and nothing was changed.
If a call is refused for one item's fault, each item is sent alone, and the faulty one is shortened. If a call is
refused for another reason, such as a signature by a wrong clock, it is sent again unchanged. Pauses between failed
calls grow to five seconds, or follow the API, up to a quarter of a minute. A pause ends early for an outcome whose
claim would be over. If the worker dies, its claims end, and the attempts are retried as WORKER_LOST.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Event, Lock, Thread
from typing import Any, NamedTuple

from clockwork_client.errors import BadRequest, ClockworkError, Invalid, Refused, TooLarge
from clockwork_client.worker.attempt import Attempt
from clockwork_client.worker.busy import FETCHES_AT_ONCE
from clockwork_client.worker.calls import MOST_OUTCOMES, Calls
from clockwork_client.worker.clock import Clock
from clockwork_client.worker.desk import Desk
from clockwork_client.worker.logs import logger
from clockwork_client.worker.outcomes import is_encodable, lesser
from clockwork_client.worker.pauses import Brake, asked_pause

log = logger(__name__)

#: The time (s) for which a report waits for others to share its call.
LINGER = 0.01
#: The time (s) after the end of its claim for which a report is still sent: perhaps no other worker has the work yet.
_LATE_SECONDS = 60.0
#: The statuses that refuse a call for its body. Any other refusal is about the caller or the transport, and may pass.
_OF_THE_BODY = (BadRequest, TooLarge, Invalid)
#: As many as there are fetches: outcomes must not leave more slowly than work may come in.
_THREADS = FETCHES_AT_ONCE
_AGAIN_SECONDS = 0.5
#: The longest pauses (s): the worker's own, shorter than the wait of a drained worker, and the API's.
_LONGEST_PAUSE, _LONGEST_ASKED = 5.0, 15.0
#: The time (s) that open calls may take to end.
_STOPPING = 10.0


class _Report(NamedTuple):
    attempt: Attempt
    outcome: dict[str, Any]

    def less(self, why: str) -> _Report:
        """A shorter report, since the API cannot take this one; the report itself if there is none shorter."""
        outcome = lesser(self.outcome, why)
        return self if outcome is None else _Report(self.attempt, outcome)


class Reports:
    """Sends outcomes in threads of its own."""

    def __init__(self, desk: Desk, calls: Calls, clock: Clock) -> None:
        self._desk = desk
        self._calls = calls
        self._clock = clock
        self._waiting: SimpleQueue[_Report | None] = SimpleQueue()
        #: Held by the one thread that takes outcomes: threads that took them at once would split the outcomes of one
        #: call.
        self._taking = Lock()
        self._is_over = Event()
        self._brake = Brake(clock, self._is_over, _AGAIN_SECONDS, _LONGEST_PAUSE, _LONGEST_ASKED)
        # No thread is made later on, when the machine may have none left.
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
        """End. Outcomes that the API has not taken by then stay unreported."""
        self._is_over.set()
        for _ in self._threads:
            self._waiting.put(None)
        ends_at = time.monotonic() + _STOPPING
        for thread in self._threads:
            thread.join(timeout=max(0.0, ends_at - time.monotonic()))

    def _run(self) -> None:
        is_last = False
        while not is_last:
            batch, is_last = self._take()
            try:
                self._tell(batch)
            except Exception:
                self._again(batch)
                log.exception("outcomes could not be told")

    def _take(self) -> tuple[list[_Report], bool]:
        """The outcomes of the next call, and whether the call is the last of this thread."""
        batch: list[_Report] = []
        with self._taking, suppress(Empty):
            while len(batch) < MOST_OUTCOMES:
                report = self._waiting.get(timeout=LINGER if batch else None)
                if report is None:
                    return batch, True
                batch.append(report)
        return batch, False

    def _tell(self, batch: Sequence[_Report]) -> None:
        if not batch:
            return
        self._brake.wait(self._patience(batch))
        if left := self._untold(batch):
            self._again(left)

    def _patience(self, batch: Sequence[_Report]) -> float:
        """The time (s) for which a pause may delay these: half of the rest of their claims, if any is left."""
        now = self._clock.now()
        left = [_ends_at(one.attempt) - now for one in batch]
        return max(_AGAIN_SECONDS, min((one for one in left if one > 0), default=math.inf) / 2)

    def _untold(self, batch: Sequence[_Report]) -> list[_Report]:
        """Send outcomes; those that have to be sent again, in the form in which they may be taken."""
        sent_at = self._clock.now()
        try:
            answers = self._calls.report([{"token": one.attempt.token, **one.outcome} for one in batch])
        except _OF_THE_BODY as error:
            return self._apart(batch, error)
        except ClockworkError as error:
            self._brake.pull(sent_at, asked_pause(error))
            said = "are refused" if isinstance(error, Refused) else "have no certain answer"
            log.warning("%d outcomes %s: %s: %s", len(batch), said, type(error).__name__, error)
            return list(batch)
        except Exception:
            # Credentials that cannot be renewed, or an outcome that was changed since.
            left = [one if is_encodable(one.outcome) else one.less("it cannot be encoded") for one in batch]
            if all(one is sent for one, sent in zip(left, batch, strict=True)):
                self._brake.pull(sent_at)
            log.exception("%d outcomes could not be sent", len(batch))
            return left
        self._brake.release(sent_at)
        return [one for one, answer in zip(batch, answers, strict=True) if not self._settle(one.attempt, answer)]

    def _apart(self, batch: Sequence[_Report], error: Refused) -> list[_Report]:
        """A fault of one outcome refuses the whole call: each goes alone then, and the faulty one is shortened."""
        if len(batch) > 1:
            # Once one of them meets a pause, the rest keeps it.
            return [left for one in batch for left in ([one] if self._brake.is_on else self._untold([one]))]
        (report,) = batch
        less = report.less(str(error))
        log.error("the outcome of %s was refused: %s", report.attempt.execution_id, error)
        return [report] if less is report else self._untold([less])

    def _settle(self, attempt: Attempt, answer: dict[str, Any]) -> bool:
        """Drop an attempt whose outcome is answered; False if the answer takes none."""
        if answer.get("outcome") not in ("ok", "stale"):
            return False
        self._desk.drop(attempt)
        if answer["outcome"] == "stale":
            log.warning("%s ended for somebody else: its outcome counts no more", attempt.execution_id)
        return True

    def _again(self, batch: Sequence[_Report]) -> None:
        self._clock.sleep(_AGAIN_SECONDS)
        for report in batch:
            attempt = report.attempt
            if self._clock.now() > _ends_at(attempt) + _LATE_SECONDS:
                self._desk.drop(attempt)
                log.error("the outcome of %s could not be told in time", attempt.execution_id)
            else:
                self._waiting.put(report)


def _ends_at(attempt: Attempt) -> float:
    """When its claim is over, unless a heartbeat renews it."""
    return min(attempt.lease_until, attempt.deadline_at)
