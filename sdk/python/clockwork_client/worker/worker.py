"""A worker: receives tickets, runs handlers, sends heartbeats, reports outcomes, and drains."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from threading import Event, Thread
from typing import TYPE_CHECKING

from clockwork_client.worker.attempt import Attempt
from clockwork_client.worker.beats import Beats
from clockwork_client.worker.calls import MOST_OUTCOMES, Calls
from clockwork_client.worker.claims import Claims
from clockwork_client.worker.clock import Clock, Monotonic
from clockwork_client.worker.desk import Desk
from clockwork_client.worker.handlers import Handlers
from clockwork_client.worker.identity import check, new_worker_id
from clockwork_client.worker.logs import logger
from clockwork_client.worker.queues import Queue, sqs_queues
from clockwork_client.worker.receiving import LONG_POLL, Receiving
from clockwork_client.worker.registry import Registry
from clockwork_client.worker.reports import Reports
from clockwork_client.worker.sharing import Sharing
from clockwork_client.worker.slots import Slots

if TYPE_CHECKING:
    from clockwork_client.client import Clockwork

log = logger(__name__)

#: The time (s) for the report of handed-back work. It begins again each time that the API has taken some of it.
_FAREWELL = 10.0
#: The time (s) for that report in any case: two signals at once do not mean that work may be lost.
_LEAST_FAREWELL = 1.0
#: The time (s) that the last calls may take to end.
_STOPPING = 30.0
#: The most attempts for each slot, with those whose outcomes are not reported yet.
_ON_DESK = 4
_LOOKS_EVERY = 0.05


class Worker:
    """Works for a pool until a drain is asked for.

    At most `concurrency` handlers run at once. `drain` (s): the time for running handlers once a drain was asked for.
    The rest is handed back, which uses up none of their attempts. `worker_id` is shown with its attempts: host, process
    and a random part unless given.
    """

    def __init__(
        self,
        pool: Registry,
        cw: Clockwork,
        *,
        concurrency: int = 10,
        drain: float = 30.0,
        worker_id: str | None = None,
        queues: Mapping[str, Queue] | None = None,
        clock: Clock | None = None,
    ) -> None:
        if not pool.handlers:
            raise ValueError(f"the pool {pool.name} has no handler here")
        self.pool = pool
        self.worker_id = worker_id or new_worker_id()
        check(self.worker_id, pool.handlers)
        self._drain_seconds = drain
        self._clock = clock or Monotonic()
        calls = Calls(cw._caller, pool.name)
        self._slots = Slots(concurrency)
        self._desk = Desk(_ON_DESK * max(concurrency, MOST_OUTCOMES))
        self._beats = Beats(self._desk, calls, self._clock)
        self._reports = Reports(self._desk, calls, self._clock)
        self._handlers = Handlers(pool, self._clock, calls, self._slots, self._desk, self._reports)
        found = queues if queues is not None else sqs_queues(cw, queue_urls(cw, pool))
        identity = self.worker_id, sorted(pool.handlers)
        is_over = Event()
        sharing = Sharing(self._desk, concurrency)
        claims = Claims(found, calls, self._clock, is_over, self._slots, sharing, identity, self._take_up)
        self._receiving = Receiving(found, claims, self._clock, is_over, self._slots, self._desk)
        self._is_draining = Event()
        #: The number of further requests to drain after the first one.
        self._hurries = 0

    def run(self) -> None:
        """Work until `drain` is called, and return once everything is done or handed back."""
        self._beats.start()
        self._reports.start()
        try:
            self._receiving.start()
            log.info("the worker %s works for the pool %s", self.worker_id, self.pool.name)
            self._is_draining.wait()
        finally:
            self._close()

    def drain(self) -> None:
        """Receive no more, let handlers end within the drain time, hand back the rest.

        A further call within the drain time: hand back now. One after it: wait for no answer any more.
        """
        if self._is_draining.is_set():
            self._hurries += 1
        self._is_draining.set()

    def seconds_since_receive(self) -> float:
        """How long ago a poll of the queues ended last, however: for a probe that restarts a worker that is stuck."""
        return self._receiving.seconds_since_receive()

    def _take_up(self, attempt: Attempt) -> None:
        self._desk.put(attempt)
        self._beats.wake()
        try:
            self._handlers.start(attempt)
        except Exception:
            # Nobody would ever say how it ended, and it would be beaten until its deadline.
            if attempt.settle():
                self._reports.put(attempt, {"outcome": "handback"})
            raise

    def _close(self) -> None:
        self._receiving.stop()
        self._handlers.begin_no_more()
        self._until(self._desk.is_empty, self._drain_seconds, hurries=0)
        hurries = self._hurries
        self._say_farewell(hurries)
        if not hurries:
            self._until(self._receiving.is_closed, LONG_POLL + 5, hurries)
            # An open claim may have brought something after all.
            self._say_farewell(hurries)
        telling = Thread(target=self._stop_telling, name="clockwork-stop", daemon=True)
        telling.start()
        self._until(lambda: not telling.is_alive(), _STOPPING, hurries)
        log.info("the worker %s has ended", self.worker_id)

    def _say_farewell(self, hurries: int) -> None:
        """Hand back the rest. That goes on while the API takes it: thousands need many calls."""
        self._handlers.hand_back()
        never, begun_at, left = Event(), self._clock.now(), len(self._desk.all())
        ends_at = begun_at + _FAREWELL
        while left:
            self._clock.wait(never, _LOOKS_EVERY)
            before, left, now = left, len(self._desk.all()), self._clock.now()
            if left < before:
                ends_at = now + _FAREWELL
            if now >= (ends_at if self._hurries <= hurries else begun_at + _LEAST_FAREWELL):
                return

    def _stop_telling(self) -> None:
        self._reports.stop()
        self._beats.stop()

    def _until(self, is_done: Callable[[], bool], seconds: float, hurries: int) -> None:
        """Wait until something is done, for so long at the most; no longer, once it was hurried more often."""
        never, ends_at = Event(), self._clock.now() + seconds
        while not is_done() and self._clock.now() < ends_at and self._hurries <= hurries:
            self._clock.wait(never, _LOOKS_EVERY)


def queue_urls(cw: Clockwork, pool: Registry) -> Mapping[str, str]:
    """The URLs of the pool's queues. Warns of a handler for which no job can be created."""
    state = cw.pools.get(pool.name)
    if strange := sorted(set(pool.handlers) - set(state.handlers)):
        told = ", ".join(strange)
        log.warning("the pool %s does not list %s: until an admin lists it, no job can name it", pool.name, told)
    return state.queue_urls
