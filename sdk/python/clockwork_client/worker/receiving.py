"""Receives tickets while there are free hands, asks the API for their jobs, and gives them to handlers.

A queue that had nothing is asked with a long poll that holds no hand. One that has work is asked as hands come free,
in the proportion of the priorities. What comes when no hand is free any more waits for one, and else goes back.

How it fails. SQS or the API gives no answer: the worker waits, up to half a minute, and goes on; tickets come back by
themselves when their visibility ends. The answer to a claim is lost: the same claims are asked for again, so that what
was claimed is started. The worker dies: claims end, tickets come back.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Event, Lock, Thread
from typing import Any

from clockwork_client.worker.attempt import Attempt
from clockwork_client.worker.calls import MOST_CLAIMS, Calls
from clockwork_client.worker.clock import Clock
from clockwork_client.worker.draws import Draws
from clockwork_client.worker.hands import Hands
from clockwork_client.worker.pauses import Pauses
from clockwork_client.worker.queues import Queue, Ticket

log = logging.getLogger(__name__)

#: The longest poll of SQS (s).
LONG_POLL = 20
#: So often a ticket is asked for that the API has no answer about, with a second between.
_TRIES = 3
#: So long (s) a ticket waits for a hand.
_PATIENCE = 15.0
_FETCHES_AT_ONCE = 8
#: So long (s) a free hand waits for others.
_LINGER = 0.02


class Receiving:
    """The receiving end of a worker."""

    def __init__(
        self,
        queues: Mapping[str, Queue],
        calls: Calls,
        clock: Clock,
        hands: Hands,
        identity: tuple[str, Sequence[str]],
        start: Callable[[Attempt], None],
    ) -> None:
        """`identity`: the worker's id, and its handlers. `start` takes each attempt, for which a hand was taken."""
        self._queues = queues
        self._calls = calls
        self._clock = clock
        self._hands = hands
        self._worker_id, self._handlers = identity
        self._start = start
        self._draws = Draws(queues)
        self._busy: set[str] = set()
        self._lock = Lock()
        self._has_busy = Event()
        self._quiet = {priority: Event() for priority in queues}
        self._is_over = Event()
        self._received_at = clock.now()
        self._fetches = ThreadPoolExecutor(_FETCHES_AT_ONCE, thread_name_prefix="clockwork-fetch")
        self._threads = [
            Thread(target=self._poll, args=(one,), name=f"clockwork-poll-{one}", daemon=True) for one in queues
        ]
        self._threads.append(Thread(target=self._draw, name="clockwork-draw", daemon=True))

    def start(self) -> None:
        """Begin."""
        for event in self._quiet.values():
            event.set()
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Receive no more. What an open poll still brings goes back."""
        self._is_over.set()
        self._hands.close()
        self._has_busy.set()
        for event in self._quiet.values():
            event.set()

    def wait_closed(self, seconds: float) -> None:
        """Wait until the open polls have ended, and the claims that are under way."""
        ends_at = self._clock.now() + seconds
        for thread in self._threads:
            thread.join(max(0.0, ends_at - self._clock.now()))
        self._fetches.shutdown(cancel_futures=True)

    def seconds_since_receive(self) -> float:
        """How long ago SQS answered last; 0 while all hands are busy, when nothing is to be received."""
        return 0.0 if self._hands.free == 0 else self._clock.now() - self._received_at

    def _poll(self, priority: str) -> None:
        """Long polls of one queue, while it is quiet and a hand is free."""
        pauses = Pauses(self._clock, self._is_over)
        while not self._is_over.is_set():
            self._quiet[priority].wait()
            if not self._hands.wait_for_one():
                return
            with pauses.guard(f"the queue {priority} cannot be received from"):
                most = max(1, min(MOST_CLAIMS, self._hands.free))
                tickets = self._receive(priority, most, LONG_POLL)
                if tickets:
                    self._take(priority, tickets)

    def _take(self, priority: str, tickets: Sequence[Ticket]) -> None:
        """Work on what a long poll brought, for which no hand was held."""
        self._draws.join(self._set_busy(priority))
        taken = self._hands.take(len(tickets), _PATIENCE)
        if taken < len(tickets):
            self._queues[priority].give_back(tickets[taken:])
        if taken:
            self._draws.charge(priority, taken)
            self._claim(priority, tickets[:taken])

    def _draw(self) -> None:
        """Give hands that come free to the queues that have work."""
        while not self._is_over.is_set():
            self._has_busy.wait()
            taken = self._hands.take(MOST_CLAIMS)
            if not taken:
                return
            if taken < min(MOST_CLAIMS, self._hands.count):
                # Hands that come free one after the other share a call.
                self._clock.wait(self._is_over, _LINGER)
                taken += self._hands.take(MOST_CLAIMS - taken, 0.0)
            with self._lock:
                busy = frozenset(self._busy)
            if not busy:
                self._hands.give(taken)
                continue
            priority = self._draws.next(busy)
            self._draws.charge(priority, taken)
            self._fetches.submit(self._fetch, priority, taken)

    def _fetch(self, priority: str, taken: int) -> None:
        tickets: Sequence[Ticket] = ()
        try:
            tickets = self._receive(priority, taken, 0)
        except Exception as error:  # noqa: BLE001 - whatever SQS or its library says; the long poll will tell
            log.warning("the queue %s cannot be received from: %s", priority, error)
        self._draws.charge(priority, len(tickets) - taken)
        self._hands.give(taken - len(tickets))
        if not tickets:
            self._set_quiet(priority)
        else:
            self._claim(priority, tickets)

    def _receive(self, priority: str, most: int, seconds: int) -> Sequence[Ticket]:
        tickets = self._queues[priority].receive(most, seconds)
        self._received_at = self._clock.now()
        if self._is_over.is_set() and tickets:
            self._queues[priority].give_back(tickets)
            return ()
        return tickets

    def _claim(self, priority: str, tickets: Sequence[Ticket]) -> None:
        """Ask for the jobs of tickets, for each of which a hand is held."""
        asked = {secrets.token_urlsafe(16): one for one in tickets}
        started = 0
        try:
            for number in range(_TRIES):
                if number:
                    self._clock.wait(self._is_over, 1.0)
                left = self._ask(asked)
                started += len(asked) - len(left)
                asked = left
                if not asked:
                    return
        except Exception as error:  # noqa: BLE001 - one batch ends here; its tickets come back
            log.warning("%d tickets of %s have no certain answer: %s", len(asked), priority, error)
            self._clock.wait(self._is_over, 1.0)
        finally:
            self._hands.give(len(tickets) - started)

    def _ask(self, asked: Mapping[str, Ticket]) -> dict[str, Ticket]:
        """One call; starts what may start. What the API had no answer about is left over."""
        claims = [
            {"claimId": claim_id, "ticket": one.body, "receiptHandle": one.receipt_handle}
            for claim_id, one in asked.items()
        ]
        sent_at = self._clock.now()
        answers = self._calls.claim(self._worker_id, self._handlers, claims)
        answered_at = self._clock.now()
        left = dict[str, Ticket]()
        for (claim_id, ticket), answer in zip(asked.items(), answers, strict=True):
            if answer.get("outcome") == "unavailable":
                left[claim_id] = ticket
            elif not self._begin(answer, sent_at, answered_at):
                self._hands.give()
        return left

    def _begin(self, answer: Mapping[str, Any], sent_at: float, answered_at: float) -> bool:
        if answer.get("outcome") != "start":
            return False
        try:
            attempt = Attempt(answer, sent_at, answered_at)
        except (KeyError, TypeError, ValueError) as error:
            log.exception("an answer to a claim cannot be read: %s", type(error).__name__)
            return False
        self._start(attempt)
        return True

    def _set_busy(self, priority: str) -> frozenset[str]:
        """A queue has work; which ones have, with it."""
        with self._lock:
            self._busy.add(priority)
            self._quiet[priority].clear()
            self._has_busy.set()
            return frozenset(self._busy)

    def _set_quiet(self, priority: str) -> None:
        with self._lock:
            self._busy.discard(priority)
            self._quiet[priority].set()
            if not self._busy and not self._is_over.is_set():
                self._has_busy.clear()
