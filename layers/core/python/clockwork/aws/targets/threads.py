"""`ports.Targets` on threads: no attempt is lost, and none is waited for beyond its deadline and a short grace."""

from __future__ import annotations

import contextlib
import logging
import traceback
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from queue import Empty, SimpleQueue
from typing import Protocol

import msgspec

from clockwork.domain.executions import Outcome, State
from clockwork.domain.releases import Delivery
from clockwork.ports import Clock

THREADS = 16
#: How much longer than its deadline an attempt may take; its transport is expected to keep the deadline by itself.
GRACE_SECONDS = 0.25

_log = logging.getLogger(__name__)


class Transport(Protocol):
    """Carries out attempts at one kind of target.

    Many threads call it at the same time.
    """

    def deliver(self, delivery: Delivery) -> Outcome:
        """Make the attempt and end by its deadline; an expected fault becomes its outcome."""


class _Attempt(msgspec.Struct, frozen=True):
    """An attempt under way, begun at `begun_at` (ms)."""

    delivery: Delivery
    begun_at: int
    future: Future[Outcome]


class ThreadedTargets:
    """Runs each attempt on a thread, with the transport for its target's type.

    One thread at a time uses it.
    """

    def __init__(
        self,
        transports: Mapping[type, Transport],
        clock: Clock,
        *,
        threads: int = THREADS,
        grace_seconds: float = GRACE_SECONDS,
    ) -> None:
        self._transports = transports
        self._clock = clock
        self._threads = threads
        self._grace_ms = round(grace_seconds * 1000)
        self._pool = self._new_pool()
        self._under_way: dict[int, _Attempt] = {}
        #: The futures that ended, each with its slot, in their order. Waiting for one here costs the same however many
        #: are under way. It may hold some of attempts that were given up.
        self._ended: SimpleQueue[tuple[int, Future[Outcome]]] = SimpleQueue()

    def forget(self) -> None:
        """Drop all attempts: those that run are left to their threads, those that wait for a thread never start."""
        left, self._under_way = self._under_way, {}
        if left:
            for attempt in left.values():
                attempt.future.cancel()
            self._abandon_threads()

    def begin(self, slot: int, delivery: Delivery) -> None:
        """Start the attempt, or queue it if all threads are busy."""
        future = self._pool.submit(self._deliver, delivery)
        self._under_way[slot] = _Attempt(delivery, self._clock.now(), future)
        future.add_done_callback(lambda ended: self._ended.put((slot, ended)))

    def collect(self) -> Sequence[tuple[int, Outcome]]:
        """Wait for at least one outcome; all outcomes that there are, by slot."""
        ended: list[tuple[int, Outcome]] = []
        while self._under_way and not ended:
            slots = self._wait()
            now = self._clock.now()
            # Whatever ended counts, and before what is overdue.
            slots = slots or [slot for slot, attempt in self._under_way.items() if self._is_overdue(attempt, now)]
            ended = [(slot, self._outcome_of(self._under_way.pop(slot), now)) for slot in slots]
        return ended

    def close(self) -> None:
        """Let the threads end once they have no attempts left."""
        self._pool.shutdown(wait=False)

    def _deliver(self, delivery: Delivery) -> Outcome:
        # An environment that stood still may be thawed with attempts that no thread had taken up yet.
        now = self._clock.now()
        if (too_late := delivery.too_late(now)) is not None:
            return too_late
        target = delivery.occurrence.target
        if (transport := self._transports.get(type(target))) is not None:
            return transport.deliver(delivery)
        # A job from a time when the deployment had it. Retries find it if it is deployed again.
        kind = target.__struct_config__.tag
        return Outcome(State.FAILED, now, now, error=f"{kind} targets are not supported by this deployment any more")

    def _wait(self) -> list[int]:
        """The slots whose attempts have ended; none if none has ended before the first is overdue."""
        slots = []
        with contextlib.suppress(Empty):
            found = self._ended.get(timeout=self._seconds_left())
            while True:
                slot, future = found
                attempt = self._under_way.get(slot)
                if attempt is not None and attempt.future is future:
                    slots.append(slot)
                found = self._ended.get_nowait()
        return slots

    def _is_overdue(self, attempt: _Attempt, now: int) -> bool:
        return now > attempt.delivery.deadline_at + self._grace_ms

    def _outcome_of(self, attempt: _Attempt, now: int) -> Outcome:
        if attempt.future.done():
            fault = attempt.future.exception()
            return attempt.future.result() if fault is None else _fault(attempt, fault, now)
        if attempt.future.cancel():
            return Outcome(State.PENDING, now, now, error="no thread was free to start in time")
        self._abandon_threads()
        return Outcome(State.TIMED_OUT, attempt.begun_at, now, error="the attempt did not end by its deadline")

    def _seconds_left(self) -> float:
        deadline_at = min(attempt.delivery.deadline_at for attempt in self._under_way.values())
        return max(0, deadline_at + self._grace_ms + 1 - self._clock.now()) / 1000

    def _abandon_threads(self) -> None:
        """Give the next attempts new threads, so that they do not wait for a thread that hangs."""
        self._pool.shutdown(wait=False)
        self._pool = self._new_pool()

    def _new_pool(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(self._threads, thread_name_prefix="attempt")


def _fault(attempt: _Attempt, fault: BaseException, now: int) -> Outcome:
    """Log an unexpected exception of a transport, a defect of ours, and return its attempt's outcome.

    The exception's message may quote its arguments, secrets included. The log therefore gets only its type and
    traceback, and the outcome only its type.
    """
    delivery = attempt.delivery
    _log.error(
        "an attempt failed in a way that nobody expected",
        extra={
            "action": "attempt_fault",
            "executionId": delivery.execution_id,
            "attempt": delivery.attempt,
            "fault": type(fault).__name__,
            "place": "".join(traceback.format_tb(fault.__traceback__)),
        },
    )
    return Outcome(State.FAILED, attempt.begun_at, now, error=f"internal fault: {type(fault).__name__}")
