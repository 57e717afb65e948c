"""Requests side by side: each goes on up to its next call of a store or queue, and then it is another one's turn.

Two requests therefore meet as they may in a deployment, in the same way at each run of the test.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Condition, RLock, Thread, local
from types import TracebackType
from typing import Any

from clockwork.flows.world import World

_NOT_PORTS = frozenset(("settings", "clock", "random", "environment"))


class Turns:
    """The turns of callers in threads of their own, of which one is running at any time."""

    def __init__(self) -> None:
        self._changed = Condition()
        self._ring: list[int] = []
        self._own = local()

    def run(self, calls: Sequence[Callable[[], Any]]) -> list[Any]:
        """Make the calls; returns the result of each, or the exception that it raises."""
        results: list[Any] = [None] * len(calls)

        def do(number: int) -> None:
            self._own.number = number
            self._await(number)
            try:
                results[number] = calls[number]()
            except Exception as error:  # noqa: BLE001 - the test looks at it
                results[number] = error
            finally:
                self._leave(number)

        self._ring = list(range(len(calls)))
        threads = [Thread(target=do, args=(number,), name=f"side-{number}", daemon=True) for number in self._ring]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return results

    @property
    def is_one(self) -> bool:
        """Whether this thread takes turns."""
        return getattr(self._own, "number", None) is not None

    def pass_on(self) -> None:
        """Let the others go on up to their next calls, if this thread takes turns."""
        if not self.is_one:
            return
        with self._changed:
            self._ring.append(self._ring.pop(0))
            self._changed.notify_all()
        self._await(self._own.number)

    def _await(self, number: int) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._ring[0] == number)

    def _leave(self, number: int) -> None:
        self._own.number = None
        with self._changed:
            self._ring.remove(number)
            self._changed.notify_all()


class Lock:
    """A lock that holds up nobody who takes turns: of those just one is running."""

    def __init__(self, turns: Turns) -> None:
        self._turns = turns
        self._lock = RLock()

    def acquire(self) -> None:
        """Wait for the lock."""
        if not self._turns.is_one:
            self._lock.acquire()

    def release(self) -> None:
        """Give the lock back."""
        if not self._turns.is_one:
            self._lock.release()

    def __enter__(self) -> None:
        self.acquire()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


class _Port:
    """A port whose calls each begin with the turns of the others."""

    def __init__(self, port: Any, turns: Turns) -> None:
        self._port = port
        self._turns = turns

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._port, name)
        if not callable(found):
            return found

        def call(*args: Any, **options: Any) -> Any:
            self._turns.pass_on()
            return found(*args, **options)

        return call


def in_turns(world: World, turns: Turns) -> World:
    """The world of an API whose requests take turns at each call of a port."""
    ports = [name for name in World.__struct_fields__ if name not in _NOT_PORTS]
    return world.with_(**{name: _Port(getattr(world, name), turns) for name in ports})
