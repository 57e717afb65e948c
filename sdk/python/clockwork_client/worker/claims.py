"""Claims the jobs of tickets at the API, and starts those that may start.

How it fails. If the API refuses, no ticket is claimed, and the tickets go back for other workers. If the API gives no
answer, some may be claimed, and the tickets come back when their visibility ends. After either, the worker receives
nothing for a while. If an attempt cannot be started here, its slot is free again, and the other attempts of the call
start.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from threading import Event
from typing import Any

from clockwork_client.errors import Refused
from clockwork_client.worker.attempt import Attempt
from clockwork_client.worker.calls import Calls
from clockwork_client.worker.clock import Clock
from clockwork_client.worker.draws import have_overflow, priority_of
from clockwork_client.worker.logs import logger
from clockwork_client.worker.pauses import Brake, asked_pause
from clockwork_client.worker.queues import Queue, Ticket
from clockwork_client.worker.sharing import Sharing
from clockwork_client.worker.slots import Slots

log = logger(__name__)

#: The most claims of a ticket about which the API has no answer, with a second between them.
_TRIES = 3


class Claims:
    """The claims of a worker."""

    def __init__(
        self,
        queues: Mapping[str, Queue],
        calls: Calls,
        clock: Clock,
        is_over: Event,
        slots: Slots,
        sharing: Sharing,
        identity: tuple[str, Sequence[str]],
        start: Callable[[Attempt], None],
    ) -> None:
        """`identity`: the worker's id, and its handlers. `start` takes each attempt, for which a slot was taken."""
        self._queues = queues
        self._calls = calls
        self._clock = clock
        self._is_over = is_over
        self._slots = slots
        self._worker_id, self._handlers = identity
        self._start = start
        self._sharing = sharing
        #: Held while no claim would be answered.
        self.brake = Brake(clock, is_over)

    def claim(self, priority: str, tickets: Sequence[Ticket]) -> int | None:
        """Claim the jobs of tickets, each with a slot. Returns how many start; None if there was no answer."""
        waiting = {secrets.token_urlsafe(16): one for one in tickets}
        asked_at = self._clock.now()
        try:
            started = self._until_answered(priority, waiting)
        except Refused as error:
            self.brake.pull(asked_at, asked_pause(error))
            self.give_back(priority, list(waiting.values()))
            log.warning("%d tickets of %s go back, as their claims were refused: %s", len(waiting), priority, error)
            return None
        except Exception as error:  # noqa: BLE001 - one batch ends here; its tickets come back
            self.brake.pull(asked_at, asked_pause(error))
            log.warning("%d tickets of %s have no certain answer: %s", len(waiting), priority, error)
            return None
        finally:
            self._slots.give(len(waiting))
        self.brake.release(asked_at)
        return started

    def give_back(self, priority: str, tickets: Sequence[Ticket]) -> None:
        """Let others receive tickets at once. If that fails, they come back when their visibility ends."""
        try:
            if tickets:
                self._queues[priority].give_back(tickets)
        except Exception as error:  # noqa: BLE001 - whatever SQS or its library says: nothing is lost by it
            log.warning("%d tickets of %s could not be given back: %s", len(tickets), priority, error)

    def _until_answered(self, queue: str, waiting: dict[str, Ticket]) -> int:
        """Take tickets with an answer out of `waiting`. Tickets without an answer after some calls stay.

        Returns how many start.
        """
        started = 0
        for number in range(_TRIES):
            if number:
                self._clock.wait(self._is_over, 1.0)
            started += self._ask(queue, waiting)
            if not waiting:
                break
        return started

    def _ask(self, queue: str, waiting: dict[str, Ticket]) -> int:
        """One call. Starts the attempts that may start, and returns how many they are."""
        claims = [
            {"claimId": claim_id, "ticket": one.body, "receiptHandle": one.receipt_handle}
            for claim_id, one in waiting.items()
        ]
        sent_at = self._clock.now()
        slots = self._sharing.told(priority_of(queue), sent_at) if have_overflow(self._queues) else None
        answers = self._calls.claim(self._worker_id, self._handlers, claims, slots)
        started = 0
        answered_at = self._clock.now()
        for claim_id, answer in zip(list(waiting), answers, strict=True):
            if answer.get("outcome") == "unavailable":
                continue
            # From here on its slot is the attempt's, or free.
            del waiting[claim_id]
            if answer.get("outcome") == "start":
                started += 1
                self._sharing.met(priority_of(queue), answer, answered_at)
                self._begin(answer, sent_at, answered_at)
            else:
                self._slots.give()
        return started

    def _begin(self, answer: Mapping[str, Any], sent_at: float, answered_at: float) -> None:
        """Start an attempt, or free its slot; the others of its call are none of its business."""
        is_begun, name = False, "an attempt"
        try:
            attempt = Attempt(answer, sent_at, answered_at)
            name = attempt.execution_id
            self._start(attempt)
            is_begun = True
        except Exception as error:
            log.exception("%s cannot be started: %s", name, type(error).__name__)
        finally:
            if not is_begun:
                self._slots.give()
