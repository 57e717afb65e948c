"""Runs the functions of handlers: plain ones in threads, `async` ones on one loop in a thread of its own.

An attempt does not start before its instant, nor once its claim is over by the worker's own count. A plain function
cannot be stopped from outside: its next call of the context raises. An `async` function is cancelled at its next
`await`. A plain function may return an awaitable, as behind a decorator: the loop awaits it.

How it fails. If a handler raises an exception that cannot even be printed, its slot is given back, and the attempt is
reported as failed. If the machine has no further thread, the attempt is handed back. If a process that a handler has
forked leaves the handler, that process ends and reports nothing.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import partial
from queue import SimpleQueue
from threading import Event, Lock, Thread
from typing import Any

from clockwork_client.worker.attempt import Attempt, Cancelled, Lost
from clockwork_client.worker.clock import Clock
from clockwork_client.worker.context import Context, Keeps
from clockwork_client.worker.desk import Desk
from clockwork_client.worker.fail import Fail
from clockwork_client.worker.forks import forked_ones_end
from clockwork_client.worker.logs import logger
from clockwork_client.worker.loop import Loop
from clockwork_client.worker.outcomes import completion, failure, text_of
from clockwork_client.worker.registry import Registry
from clockwork_client.worker.reports import Reports
from clockwork_client.worker.slots import Slots

log = logger(__name__)

#: The time (s) for which an attempt is kept that cannot begin, so that the next worker is not tried in vain at once.
_PAUSE = 0.5
#: The words for outcomes in the line that a worker logs of each attempt.
_ENDS = {"complete": "complete", "fail": "failed", "cancelled": "cancelled", "handback": "handed back"}


class Handlers:
    """The handlers at work. A slot is given back when a handler has ended."""

    def __init__(self, pool: Registry, clock: Clock, keeper: Keeps, slots: Slots, desk: Desk, reports: Reports) -> None:
        self._pool = pool
        self._clock = clock
        self._keeper = keeper
        self._slots = slots
        self._desk = desk
        self._reports = reports
        self._is_over = Event()
        self._work: SimpleQueue[Attempt] = SimpleQueue()
        self._threads = 0
        #: How many attempts wait for a thread, or have one.
        self._in_threads = 0
        self._lock = Lock()
        self._loop = Loop()

    def start(self, attempt: Attempt) -> None:
        """Run the handler of an attempt, for which a slot was taken."""
        try:
            if self._pool.is_async(attempt.handler):
                loop = self._loop.get()
                asyncio.run_coroutine_threadsafe(self._await(attempt), loop)
            else:
                self._put(attempt)
        except Exception:
            # It may be this worker that takes it again.
            self._clock.wait(self._is_over, _PAUSE)
            self._end(attempt, {"outcome": "handback"})
            log.exception("%s cannot be begun here, and is handed back", attempt.execution_id)

    def _put(self, attempt: Attempt) -> None:
        """Give an attempt to the threads; raises RuntimeError if all have one, and the machine has no thread more."""
        with self._lock:
            if self._in_threads >= self._threads and self._threads < self._slots.count:
                Thread(target=self._serve, name=f"clockwork-handler-{self._threads + 1}", daemon=True).start()
                self._threads += 1
            self._in_threads += 1
        self._work.put(attempt)

    def begin_no_more(self) -> None:
        """Hand back attempts that were claimed and have not begun."""
        self._is_over.set()

    def hand_back(self) -> None:
        """Hand back all running attempts.

        The next calls of their handlers raise, and their results do not count any more.
        """
        for attempt in self._desk.all():
            if not attempt.settle():
                continue
            if attempt.over:
                self._desk.drop(attempt)  # it is somebody else's already
            else:
                attempt.end("the worker has handed it back")
                self._report(attempt, {"outcome": "handback"})

    def _serve(self) -> None:
        while True:
            attempt = self._work.get()
            with self._ending(attempt) as said:
                try:
                    self._do(attempt, said)
                finally:
                    with self._lock:
                        self._in_threads -= 1  # before the slot is given back, which brings the next attempt

    def _do(self, attempt: Attempt, said: _Said) -> None:
        while (wait := attempt.start_at - self._clock.now()) > 0 and not self._clock.wait(self._is_over, wait):
            pass
        if self._let_begin(attempt, said):
            said.outcome = outcome_of(attempt, partial(self._returned, attempt), self._clock)

    def _returned(self, attempt: Attempt) -> Any:
        """The return value of a plain function, awaited if necessary."""
        with forked_ones_end():
            result = result_of(self._pool, attempt, self._context(attempt))
        if not inspect.isawaitable(result):
            return result
        loop = self._loop.get()
        task = asyncio.run_coroutine_threadsafe(self._finished(attempt, result), loop).result()
        return _result_of(task, attempt)

    async def _await(self, attempt: Attempt) -> None:
        with self._ending(attempt) as said:
            while (wait := attempt.start_at - self._clock.now()) > 0 and not self._is_over.is_set():
                await asyncio.sleep(min(wait, 0.1))
            if self._let_begin(attempt, said):
                task = await self._finished(attempt, self._called(attempt))
                said.outcome = outcome_of(attempt, partial(_result_of, task, attempt), self._clock)

    async def _called(self, attempt: Attempt) -> Any:
        result = result_of(self._pool, attempt, self._context(attempt))
        return await result if inspect.isawaitable(result) else result

    async def _finished(self, attempt: Attempt, result: Awaitable[Any]) -> asyncio.Future[Any]:
        """The ended task of this loop for a handler's awaitable. A stop cancels the task."""
        task = asyncio.ensure_future(_contained(result))
        loop = asyncio.get_running_loop()

        def stop() -> None:
            loop.call_soon_threadsafe(task.cancel)

        attempt.on_stop = stop
        if attempt.over or attempt.cancel_requested:
            task.cancel()
        await asyncio.wait([task])
        if inspect.iscoroutine(result):
            result.close()  # it may have been cancelled before it began
        return task

    @contextmanager
    def _ending(self, attempt: Attempt) -> Iterator[_Said]:
        """Gives the slot back and reports the attempt, whatever its end."""
        said = _Said()
        try:
            yield said
        except BaseException:
            log.exception("%s ended in a way that the worker does not know", attempt.execution_id)
        finally:
            self._end(attempt, said.outcome)

    def _let_begin(self, attempt: Attempt, said: _Said) -> bool:
        """Let the handler begin now; False if it may not: then the end of the attempt is reported."""
        if self._clock.now() < attempt.start_at or self._is_over.is_set():
            said.outcome = {"outcome": "handback"}
        elif attempt.is_lost(self._clock.now()):
            said.outcome = None
            log.warning("%s was claimed too late to begin", attempt.execution_id)
        else:
            return True
        return False

    def _end(self, attempt: Attempt, outcome: dict[str, Any] | None) -> None:
        self._slots.give()
        if attempt.settle():
            if outcome is None:
                self._desk.drop(attempt)
            else:
                self._report(attempt, outcome)

    def _report(self, attempt: Attempt, outcome: dict[str, Any]) -> None:
        """Have the API told how an attempt ended, and log a line of it."""
        seconds, error = max(0.0, self._clock.now() - attempt.start_at), outcome.get("error")
        told = (attempt.handler, attempt.execution_id, attempt.number, _ENDS[outcome["outcome"]], seconds)
        log.info("%s: %s, attempt %d, %s after %.3f s%s", *told, "" if error is None else f": {error!r:.200}")
        self._reports.put(attempt, outcome)

    def _context(self, attempt: Attempt) -> Context:
        return Context(attempt, self._clock, self._keeper)


class _Said:
    """The report of an attempt's end; None if there is nothing to report."""

    def __init__(self) -> None:
        self.outcome: dict[str, Any] | None = failure("the worker does not know how the handler ended")


def outcome_of(attempt: Attempt, call: Callable[[], Any], clock: Clock) -> dict[str, Any] | None:
    """How an attempt ended whose handler is called here; None if that concerns nobody, as the claim is over."""
    try:
        return completion(call())
    except Lost as error:
        # A handler may raise this and the next one by itself, while its claim is well and nobody asks for a cancel.
        if not attempt.is_lost(clock.now()):
            return failure(f"Lost: {text_of(error)}")
        log.warning("%s was lost: %s", attempt.execution_id, attempt.over)
        return None
    except Cancelled as error:
        return {"outcome": "cancelled"} if attempt.cancel_requested else failure(f"Cancelled: {text_of(error)}")
    except Fail as error:
        return failure(text_of(error), retryable=error.retryable, retry_after=error.retry_after)
    except BaseException as error:
        log.exception("the handler %s failed", attempt.handler)
        return failure(f"{type(error).__name__}: {text_of(error)}")


def result_of(pool: Registry, attempt: Attempt, context: Context) -> Any:
    """The return value of an attempt's handler, perhaps an awaitable. Raises TypeError for a generator."""
    result = pool.handlers[attempt.handler](attempt.payload, context)
    if inspect.isgenerator(result) or inspect.isasyncgen(result):
        raise TypeError(f"the handler {attempt.handler} returned a generator, of which nothing has run")
    return result


async def _contained(result: Awaitable[Any]) -> Any:
    """The handler's end, without exceptions that would end the loop of all handlers."""
    try:
        with forked_ones_end():
            return await result
    except (SystemExit, KeyboardInterrupt) as error:
        raise Fail(f"{type(error).__name__}: {text_of(error)}") from error


def _result_of(task: asyncio.Future[Any], attempt: Attempt) -> Any:
    """The return value of an `async` handler. If the handler was stopped, raises the reason."""
    if task.cancelled():
        raise Lost(attempt.over) if attempt.over else Cancelled("a cancel was asked for")
    return task.result()
