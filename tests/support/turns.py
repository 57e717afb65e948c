"""Flows that take turns: each makes one call to its ports at a time, in the order that a test decides, and may die."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from threading import Semaphore, Thread
from typing import Any

from clockwork.flows.world import World


class Died(BaseException):
    """Stands for the end of a process between two calls."""


class Turn:
    """One flow on a thread of its own, which stops before every call to the named ports."""

    def __init__(self, work: Callable[[World], object], world: World, ports: tuple[str, ...]) -> None:
        self.ended = False
        self.fault: Exception | None = None
        self._dies = False
        self._go, self._stopped = Semaphore(0), Semaphore(0)
        stopping: dict[str, Any] = {name: _Stopping(getattr(world, name), self._stop) for name in ports}
        self._thread = Thread(target=self._run, args=(work, replace(world, **stopping)), daemon=True)
        self._thread.start()
        self._stopped.acquire()

    def step(self) -> None:
        """Lets the flow make its next call, unless it has ended."""
        if not self.ended:
            self._go.release()
            self._stopped.acquire()

    def die(self) -> None:
        """Ends the flow before its next call."""
        self._dies = True
        self.step()

    def finish(self) -> None:
        """Lets the flow make all remaining calls."""
        while not self.ended:
            self.step()
        self._thread.join()

    def _stop(self) -> None:
        self._stopped.release()
        self._go.acquire()
        if self._dies:
            raise Died

    def _run(self, work: Callable[[World], object], world: World) -> None:
        try:
            self._stop()
            work(world)
        except Died:
            pass
        except Exception as fault:  # noqa: BLE001 - for the test to judge
            self.fault = fault
        finally:
            self.ended = True
            self._stopped.release()


class _Stopping:
    """A port whose flow stops before each call."""

    def __init__(self, inner: Any, stop: Callable[[], None]) -> None:
        self._inner = inner
        self._stop = stop

    def __getattr__(self, method: str) -> Callable[..., Any]:
        call = getattr(self._inner, method)

        def stopping(*args: Any, **named: Any) -> Any:
            self._stop()
            return call(*args, **named)

        return stopping
