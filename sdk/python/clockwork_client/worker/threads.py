"""Threads for the blocking calls of `async` handlers, apart from those that their event loop has for everybody.

How it fails. The machine has no thread more: those that there are go on with the calls, and without any the call raises
RuntimeError. The process ends: what is under way ends with it. The process forks: the child begins without threads.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any

_Call = tuple["Future[Any]", Callable[[], Any]]


class Threads:
    """Up to `most` threads, which begin as calls need them. They end with the process, whatever they wait for."""

    def __init__(self, most: int, name: str) -> None:
        self._most = most
        self._name = name
        self._begin()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._begin)

    def _begin(self) -> None:
        self._calls: SimpleQueue[_Call] = SimpleQueue()
        self._count = 0
        #: How many calls wait for a thread, or have one.
        self._under_way = 0
        self._lock = Lock()

    async def run(self, call: Callable[[], Any]) -> Any:
        """What a call returns or raises; the loop goes on meanwhile. A call that is cancelled may not begin."""
        return await asyncio.wrap_future(self._put(call))

    def _put(self, call: Callable[[], Any]) -> Future[Any]:
        future: Future[Any] = Future()
        with self._lock:
            if self._under_way >= self._count and self._count < self._most:
                self._add_thread()
            self._under_way += 1
        self._calls.put((future, call))
        return future

    def _add_thread(self) -> None:
        thread = Thread(target=self._serve, name=f"{self._name}-{self._count + 1}", daemon=True)
        try:
            thread.start()
        except RuntimeError:
            if not self._count:
                raise
        else:
            self._count += 1

    def _serve(self) -> None:
        while True:
            future, call = self._calls.get()
            if future.set_running_or_notify_cancel():
                _settle(future, call)
            # What was called is not to be kept until the next one comes.
            del future, call
            with self._lock:
                self._under_way -= 1


def _settle(future: Future[Any], call: Callable[[], Any]) -> None:
    try:
        result = call()
    except BaseException as error:  # noqa: BLE001 - raised again where it is awaited
        future.set_exception(error)
    else:
        future.set_result(result)
