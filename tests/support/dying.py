"""The ports of a Clockwork in memory, of which one write goes wrong."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

from clockwork.domain.errors import Unavailable
from clockwork.flows.world import World
from clockwork.ports import Refused, Saved

READS = frozenset(
    {
        *("list", "get", "find", "read", "between", "dead", "all", "of_principal", "circuits", "taken"),
        *("open", "open_of"),
    }
)
PORTS = ("timeline", "executions", "runs", "releases", "notices", "pool_queues")


class Crash(BaseException):
    """Stands for the end of a process."""


#: Behind the write its process ends, or its answer is lost, or it is refused and nothing is written.
Way = Literal["dies", "mute", "refused"]


class Dying:
    """Counts the writes of a world. Write number `last` goes wrong in this way."""

    def __init__(self, world: World, last: int, way: Way = "dies", of: Sequence[str] = PORTS) -> None:
        self.last, self.way = last, way
        self.calls: list[str] = []
        ports = {name: _Port(name, getattr(world, name), self) for name in of}
        self.world = world.with_(**ports)

    def write(self, name: str, call: Callable[[], Any], items: Sequence[Any]) -> Any:
        """The answer of a write, unless it is the one that goes wrong."""
        self.calls.append(name)
        if len(self.calls) != self.last:
            return call()
        if self.way != "refused":
            call()
        if self.way == "dies":
            raise Crash
        if name == "executions.save":
            return [Saved(ok=False, unavailable="no answer") for _ in items]
        if name in ("releases.send", "pool_queues.send"):
            return [Refused(index, False, "no answer") for index in range(len(items))]
        raise Unavailable("no answer")


class _Port:
    def __init__(self, name: str, inner: Any, dying: Dying) -> None:
        self._name, self._inner, self._dying = name, inner, dying

    def __getattr__(self, method: str) -> Callable[..., Any]:
        call = getattr(self._inner, method)
        if method in READS:
            return call  # type: ignore[no-any-return]

        def written(*args: Any, **named: Any) -> Any:
            items: Sequence[Any] = args[0] if args and isinstance(args[0], Sequence) else ()
            return self._dying.write(f"{self._name}.{method}", lambda: call(*args, **named), items)

        return written
