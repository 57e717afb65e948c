"""Runs the functions of handlers: plain ones in threads, `async` ones on one loop in a thread of its own.

An attempt does not start before its instant, nor once its claim is over by the worker's own count. A plain function
cannot be stopped from outside: it is told at its next call of the context. An `async` one is cancelled at its next
`await`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from queue import SimpleQueue
from threading import Event, Lock, Thread
from typing import Any

from clockwork_client.worker.attempt import Attempt, Cancelled, Lost
from clockwork_client.worker.clock import Clock
from clockwork_client.worker.context import Context, Keeps
from clockwork_client.worker.desk import Desk
from clockwork_client.worker.hands import Hands
from clockwork_client.worker.outcomes import completion, failure
from clockwork_client.worker.pool import Fail, Pool
from clockwork_client.worker.reports import Reports

log = logging.getLogger(__name__)


class Handlers:
    """The handlers at work. A hand is given back when a handler has ended."""

    def __init__(self, pool: Pool, clock: Clock, keeper: Keeps, hands: Hands, desk: Desk, reports: Reports) -> None:
        self._pool = pool
        self._clock = clock
        self._keeper = keeper
        self._hands = hands
        self._desk = desk
        self._reports = reports
        self._is_over = Event()
        self._work: SimpleQueue[Attempt] = SimpleQueue()
        self._threads = 0
        self._lock = Lock()
        self._loop: asyncio.AbstractEventLoop | None = None

    def start(self, attempt: Attempt) -> None:
        """Run the handler of an attempt, in whose place a hand was taken."""
        if self._pool.is_async(attempt.handler):
            asyncio.run_coroutine_threadsafe(self._await(attempt), self._own_loop())
            return
        with self._lock:
            if self._threads < self._hands.count:
                self._threads += 1
                Thread(target=self._serve, name=f"clockwork-handler-{self._threads}", daemon=True).start()
        self._work.put(attempt)

    def begin_no_more(self) -> None:
        """Hand back what was claimed and has not begun."""
        self._is_over.set()

    def hand_back(self) -> None:
        """Hand back whatever is under way. Its handlers are told, and what they return counts no more."""
        for attempt in self._desk.all():
            if not attempt.settle():
                continue
            if attempt.over:
                self._desk.drop(attempt)  # it is somebody else's already
            else:
                attempt.end("the worker has handed it back")
                self._reports.put(attempt, {"outcome": "handback"})

    def _serve(self) -> None:
        while True:
            attempt = self._work.get()
            while (wait := attempt.start_at - self._clock.now()) > 0 and not self._clock.wait(self._is_over, wait):
                pass
            if self._may_begin(attempt):
                self._end(attempt, self._called(attempt))

    def _called(self, attempt: Attempt) -> dict[str, Any] | None:
        function, context = self._pool.handlers[attempt.handler], self._context(attempt)
        return outcome_of(attempt, lambda: function(attempt.payload, context))

    async def _await(self, attempt: Attempt) -> None:
        while (wait := attempt.start_at - self._clock.now()) > 0 and not self._is_over.is_set():
            await asyncio.sleep(min(wait, 0.1))
        if self._may_begin(attempt):
            self._end(attempt, await self._outcome(attempt))

    async def _outcome(self, attempt: Attempt) -> dict[str, Any] | None:
        function, context = self._pool.handlers[attempt.handler], self._context(attempt)
        task = asyncio.ensure_future(_contained(function, attempt.payload, context))
        loop = asyncio.get_running_loop()

        def stop() -> None:
            loop.call_soon_threadsafe(task.cancel)

        attempt.on_stop = stop
        if attempt.over or attempt.cancel_requested:
            task.cancel()
        await asyncio.wait([task])
        return outcome_of(attempt, lambda: _result_of(task, attempt))

    def _may_begin(self, attempt: Attempt) -> bool:
        """Whether the handler may begin now. If not, the attempt is let go of here."""
        if self._clock.now() < attempt.start_at or self._is_over.is_set():
            self._end(attempt, {"outcome": "handback"})
        elif attempt.is_lost(self._clock.now()):
            log.warning("%s was claimed too late to begin", attempt.execution_id)
            self._end(attempt, None)
        else:
            return True
        return False

    def _end(self, attempt: Attempt, outcome: dict[str, Any] | None) -> None:
        self._hands.give()
        if attempt.settle():
            if outcome is None:
                self._desk.drop(attempt)
            else:
                self._reports.put(attempt, outcome)

    def _context(self, attempt: Attempt) -> Context:
        return Context(attempt, self._clock, self._keeper)

    def _own_loop(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                Thread(target=self._loop.run_forever, name="clockwork-loop", daemon=True).start()
            return self._loop


def outcome_of(attempt: Attempt, call: Callable[[], Any]) -> dict[str, Any] | None:
    """How an attempt ended whose handler is called here; None if that concerns nobody, as the claim is over."""
    try:
        return completion(call())
    except Lost:
        log.warning("%s was lost: %s", attempt.execution_id, attempt.over)
        return None
    except Cancelled as error:
        # A handler may raise it by itself: nobody has asked for it then.
        return {"outcome": "cancelled"} if attempt.cancel_requested else failure(f"Cancelled: {error}")
    except Fail as error:
        return failure(str(error), retryable=error.retryable, retry_after=error.retry_after)
    except BaseException as error:
        log.exception("the handler %s failed", attempt.handler)
        return failure(f"{type(error).__name__}: {error}")


async def _contained(function: Callable[..., Awaitable[Any]], payload: Any, context: Context) -> Any:
    """The handler's end, without what would end the loop of all handlers."""
    try:
        return await function(payload, context)
    except (SystemExit, KeyboardInterrupt) as error:
        raise Fail(f"{type(error).__name__}: {error}") from error


def _result_of(task: asyncio.Future[Any], attempt: Attempt) -> Any:
    """What an `async` handler returned; one that was stopped says why it was."""
    if task.cancelled():
        raise Lost(attempt.over) if attempt.over else Cancelled("a cancel was asked for")
    return task.result()
