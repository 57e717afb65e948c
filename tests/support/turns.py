"""Flows that take turns: each makes one call to its ports at a time, in the order that a test decides, and may die."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from greenlet import getcurrent, greenlet

from clockwork.flows.world import World


class Died(BaseException):
    """Stands for the end of a process between two calls."""


class Turn:
    """One flow in a greenlet of its own, which stops before every call to the named ports."""

    def __init__(self, work: Callable[[World], object], world: World, ports: tuple[str, ...]) -> None:
        self.ended = False
        self.fault: Exception | None = None
        self._dies = False
        stopping: dict[str, Any] = {name: _Stopping(getattr(world, name), self._stop) for name in ports}
        self._flow = greenlet(partial(self._run, work, world.with_(**stopping)))

    def step(self) -> None:
        """Lets the flow make its next call, unless it has ended. The first step leads up to the first call."""
        if not self.ended:
            self._flow.parent = getcurrent()
            self._flow.switch()

    def die(self) -> None:
        """Ends the flow before its next call."""
        self._dies = True
        self.step()

    def finish(self) -> None:
        """Lets the flow make all remaining calls."""
        while not self.ended:
            self.step()

    def _stop(self) -> None:
        assert self._flow.parent is not None
        self._flow.parent.switch()
        if self._dies:
            raise Died

    def _run(self, work: Callable[[World], object], world: World) -> None:
        try:
            if not self._dies:
                work(world)
        except Died:
            pass
        except Exception as fault:  # noqa: BLE001 - for the test to judge
            self.fault = fault
        self.ended = True


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
