"""The event loop of all `async` handlers, in a thread of its own.

How it fails. SystemExit or KeyboardInterrupt in a task of a handler ends the loop, or a handler stops the loop. The
loop then runs again, since all other handlers share it.
"""

from __future__ import annotations

import asyncio
from threading import Lock, Thread

from clockwork_client.worker.executor import DaemonThreads
from clockwork_client.worker.logs import logger

log = logger(__name__)


class Loop:
    """One loop, begun when it is asked for first."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._lock = Lock()

    def get(self) -> asyncio.AbstractEventLoop:
        """The loop, which runs. Raises RuntimeError if the machine has no thread more for it."""
        with self._lock:
            if self._loop is None:
                loop = asyncio.new_event_loop()
                loop.set_default_executor(DaemonThreads())
                try:
                    Thread(target=_serve, args=(loop,), name="clockwork-loop", daemon=True).start()
                except BaseException:
                    loop.close()
                    raise
                self._loop = loop
            return self._loop


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    while not loop.is_closed():
        _run(loop)


def _run(loop: asyncio.AbstractEventLoop) -> None:
    try:
        loop.run_forever()
        log.error("a handler has stopped the loop of all handlers; it runs again")
    except BaseException:
        log.exception("a task has ended the loop of all handlers; it runs again")
