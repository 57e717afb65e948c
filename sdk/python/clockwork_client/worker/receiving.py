"""Receives tickets while there are free slots, and claims their jobs.

A quiet queue is asked with a long poll that holds no slot. A queue with work is asked as slots become free, in the
proportion of the priorities. Before the worker asks an overflow queue, it asks the first queue of that priority. A
ticket that arrives when no slot is free waits for one for a while, and then goes back. While too many outcomes wait for
the API, nothing is received.

How it fails. If SQS or the API gives no answer, the worker waits up to half a minute and goes on; tickets come back
when their visibility ends. If a poll does not end, a probe takes the worker for stuck. If the API refuses claims, the
tickets go back. The worker then claims one at a time, ever more rarely, until a claim is answered. If the worker dies,
its claims end and its tickets come back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from threading import Event, Lock, Thread

from clockwork_client.worker.busy import FETCHES_AT_ONCE, Busy
from clockwork_client.worker.calls import MOST_CLAIMS
from clockwork_client.worker.claims import Claims
from clockwork_client.worker.clock import Clock
from clockwork_client.worker.desk import Desk
from clockwork_client.worker.draws import QueueDraws, is_priority, priority_of
from clockwork_client.worker.logs import logger
from clockwork_client.worker.pauses import Pauses
from clockwork_client.worker.queues import Queue, Ticket
from clockwork_client.worker.slots import Slots

log = logger(__name__)

#: The longest poll of SQS (s).
LONG_POLL = 20
#: The time (s) for which a ticket waits for a slot.
_PATIENCE = 15.0
#: The time (s) for which a free slot waits for further ones.
_LINGER = 0.02


class Receiving:
    """The receiving end of a worker."""

    def __init__(
        self, queues: Mapping[str, Queue], claims: Claims, clock: Clock, is_over: Event, slots: Slots, desk: Desk
    ) -> None:
        self._queues = queues
        self._claims = claims
        self._clock = clock
        self._is_over = is_over
        self._slots = slots
        self._desk = desk
        self._draws = QueueDraws(queues)
        self._busy = Busy(queues)
        self._drawing = Lock()
        self._polled_at = clock.now()
        # No thread is made later on, when the machine may have none left.
        self._threads = [
            Thread(target=self._poll, args=(one,), name=f"clockwork-poll-{one}", daemon=True) for one in queues
        ]
        self._threads += [
            Thread(target=self._draw, name=f"clockwork-fetch-{number}", daemon=True)
            for number in range(FETCHES_AT_ONCE)
        ]

    def start(self) -> None:
        """Begin."""
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Receive no more. Tickets of an open poll go back."""
        self._is_over.set()
        self._slots.close()
        self._desk.close()
        self._busy.close()

    def is_closed(self) -> bool:
        """Whether the open polls have ended, and the claims that were under way."""
        return not any(thread.is_alive() for thread in self._threads)

    def seconds_since_receive(self) -> float:
        """How long ago a poll ended last, however; 0 while slots or desk are full, when nothing is to be received."""
        is_full = self._slots.free == 0 or self._desk.is_full()
        return 0.0 if is_full else self._clock.now() - self._polled_at

    def _poll(self, priority: str) -> None:
        """Long polls of one queue, while it is quiet and a slot is free."""
        pauses = Pauses(self._clock, self._is_over)
        while self._busy.wait_quiet(priority) and self._slots.wait_for_one() and self._desk.wait_for_room():
            self._claims.brake.wait()
            with pauses.guard(f"the queue {priority} cannot be received from"):
                most = 1 if self._claims.brake.is_wary else max(1, min(MOST_CLAIMS, self._slots.free))
                tickets = self._receive(priority, most, LONG_POLL)
                if self._claims.brake.is_on or self._desk.is_full():
                    self._claims.give_back(priority, tickets)
                elif tickets:
                    self._take(priority, tickets, is_full=len(tickets) == most)

    def _take(self, priority: str, tickets: Sequence[Ticket], *, is_full: bool) -> None:
        """Work on the tickets of a long poll, which held no slot."""
        # While claims fail, no short poll is to bring more tickets before one is answered.
        is_wary = self._claims.brake.is_wary
        if not is_wary:
            self._draws.join(self._busy.found(priority, is_full=is_full))
        # Tickets that have come go before those that are still to be fetched, but not those of an overflow queue.
        take = self._slots.take_for_tickets if is_priority(priority) else self._slots.take
        taken = take(len(tickets), _PATIENCE)
        self._claims.give_back(priority, tickets[taken:])
        if taken:
            self._draws.charge(priority, taken)
            if self._claim(priority, tickets[:taken]) and is_wary:
                self._draws.join(self._busy.found(priority, is_full=is_full))

    def _draw(self) -> None:
        """Give slots that come free to the queues that have work."""
        pauses = Pauses(self._clock, self._is_over)
        while not self._is_over.is_set():
            with pauses.guard("slots cannot be given to queues"):
                with self._drawing:
                    drawn = self._drawn()
                if drawn is not None:
                    self._fetch(*drawn)

    def _drawn(self) -> tuple[str, int] | None:
        """The queue that is next, and how many slots were taken for it."""
        if not (self._busy.wait_open() and self._desk.wait_for_room()):
            return None
        taken = self._slots.take(MOST_CLAIMS)
        if 0 < taken < min(MOST_CLAIMS, self._slots.count):
            # Slots that come free one after the other share a call.
            self._clock.wait(self._is_over, _LINGER)
            taken += self._slots.take(MOST_CLAIMS - taken, 0.0)
        at_work = self._busy.open()
        if not taken or not at_work or self._desk.is_full():
            self._slots.give(taken)
            return None
        priority = self._draws.next(at_work)
        self._draws.charge(priority, taken)
        self._busy.asked(priority)
        return priority, taken

    def _fetch(self, queue: str, taken: int) -> None:
        first, tickets = priority_of(queue), self._of_first_queue(queue, taken)
        if tickets:
            self._draws.charge(queue, -taken)
            self._busy.withdrawn(queue)
            self._draws.join(self._busy.found(first, is_full=len(tickets) == taken))
            self._draws.charge(first, len(tickets))
            self._slots.give(taken - len(tickets))
            self._claim(first, tickets)
            return
        try:
            tickets = self._receive(queue, taken, 0)
        except Exception as error:  # noqa: BLE001 - whatever SQS or its library says; the long poll will tell
            log.warning("the queue %s cannot be received from: %s", queue, error)
        finally:
            self._draws.charge(queue, len(tickets) - taken)
            self._slots.give(taken - len(tickets))
            self._busy.answered(queue, taken, len(tickets))
        if tickets:
            self._claim(queue, tickets)

    def _of_first_queue(self, queue: str, most: int) -> Sequence[Ticket]:
        """Tickets of the first queue of an overflow queue's priority, if that one was quiet; else none.

        A client without a flood must not wait until the slots of another's flood come free once more.
        """
        first = priority_of(queue)
        if first == queue or not self._busy.is_quiet(first):
            return ()
        try:
            return self._receive(first, most, 0)
        except Exception as error:  # noqa: BLE001 - as for the queue itself
            log.warning("the queue %s cannot be received from: %s", first, error)
            return ()

    def _claim(self, priority: str, tickets: Sequence[Ticket]) -> bool:
        """Claim tickets, each with a slot. The tickets go back if claims have failed meanwhile."""
        started = None
        if self._claims.brake.is_on:
            self._slots.give(len(tickets))
            self._claims.give_back(priority, tickets)
        else:
            started = self._claims.claim(priority, tickets)
        if started is None:
            self._busy.clear()
            return False
        self._draws.unstarted(priority, len(tickets) - started)
        return True

    def _receive(self, priority: str, most: int, seconds: int) -> Sequence[Ticket]:
        try:
            tickets = self._queues[priority].receive(most, seconds)
        finally:
            # One that fails says so of SQS, or of the way there: a restart would mend neither, and end the handlers.
            self._polled_at = self._clock.now()
        if self._is_over.is_set() and tickets:
            self._claims.give_back(priority, tickets)
            return ()
        return tickets
