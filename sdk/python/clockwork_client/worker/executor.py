"""Threads for calls that `async` handlers pass on, as by `asyncio.to_thread`, and for their checkpoints.

A process ends without waiting for these threads. The threads of Python's own ThreadPoolExecutor keep the process until
they have ended, although their work was handed back.

How it fails. If the machine has no further thread, the existing threads do the calls; without any thread RuntimeError
is raised. A call that fails raises its exception where its future is awaited.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from typing import Any, ParamSpec, TypeVar

from clockwork_client.worker.forks import forked_ones_end

Params = ParamSpec("Params")
Result = TypeVar("Result")

_Call = tuple["Future[Any]", Callable[[], Any]]


class DaemonThreads(ThreadPoolExecutor):
    """An executor whose threads are daemons. A loop takes none but a ThreadPoolExecutor: nothing of it is used here.

    `most`: so many threads there are at the most; as many as Python's own has, unless given.
    """

    def __init__(self, most: int | None = None, name: str = "clockwork-to-thread") -> None:
        self._most = most or min(32, (os.cpu_count() or 1) + 4)
        self._name = name
        super().__init__(self._most)
        self._calls: SimpleQueue[_Call | None] = SimpleQueue()
        self._begun: list[Thread] = []
        #: How many calls wait for a thread, or have one.
        self._in_progress = 0
        self._is_closed = False
        self._guard = Lock()

    def submit(self, fn: Callable[Params, Result], /, *args: Params.args, **kwargs: Params.kwargs) -> Future[Result]:
        """Have a function called in a thread. Raises RuntimeError after a shutdown, or if there is no thread at all."""
        future: Future[Result] = Future()
        with self._guard:
            if self._is_closed:
                raise RuntimeError("the executor is shut down")
            if self._in_progress >= len(self._begun) and len(self._begun) < self._most:
                self._begin()
            self._in_progress += 1
            self._calls.put((future, partial(fn, *args, **kwargs)))
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take no more calls. Accepted calls are done, unless their futures are to be cancelled."""
        with self._guard:
            self._is_closed = True
            if cancel_futures:
                self._cancel()
            for _ in self._begun:
                self._calls.put(None)
        if wait:
            for thread in self._begun:
                thread.join()

    def _begin(self) -> None:
        thread = Thread(target=self._serve, name=f"{self._name}-{len(self._begun) + 1}", daemon=True)
        try:
            thread.start()
        except RuntimeError:
            if not self._begun:
                raise
        else:
            self._begun.append(thread)

    def _cancel(self) -> None:
        while True:
            try:
                call = self._calls.get_nowait()
            except Empty:
                return
            if call is not None:
                call[0].cancel()

    def _serve(self) -> None:
        while (call := self._calls.get()) is not None:
            _do(*call)
            del call  # so that nothing keeps its result until the next one comes
            with self._guard:
                self._in_progress -= 1


def _do(future: Future[Any], call: Callable[[], Any]) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        with forked_ones_end():
            result = call()
    except BaseException as error:  # noqa: BLE001 - raised again where the future is awaited
        future.set_exception(error)
    else:
        future.set_result(result)
