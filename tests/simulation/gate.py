"""The gate: every call of a port passes it. Others act before and after the call's effect, and a fault may strike."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, Protocol, TypeVar

from clockwork.domain.errors import PartitionThrottled, Unavailable
from clockwork.domain.executions import Execution
from tests.simulation import roles
from tests.simulation.defects import Defect, Meets
from tests.simulation.faults import OF_CONDITION, OF_READ, OF_SEVERAL, OF_TARGET, OF_WRITE, Fault
from tests.simulation.history import History
from tests.simulation.scheduler import Actor, Killed, Scheduler

I = TypeVar("I")  # noqa: E741 - an item
R = TypeVar("R")


class NoAnswer:
    """Stands for the answer of an item whose call got no definite answer."""


class Newer(NoAnswer):
    """Stands for an item that the build of the reader cannot read."""


#: The faults that strike some of the items of a call.
OF_SOME = (
    *(Fault.CRASH_BETWEEN, Fault.THROTTLED, Fault.ANSWER_LOST, Fault.LANDS_LATE, Fault.LANDS_TWICE),
    Fault.NEWER_RECORD,
)
NO_ANSWER: Final = NoAnswer()
NEWER: Final = Newer()
Effect = Callable[[Sequence[I]], Sequence[R]]


class Striking(Protocol):
    """The adversary, as the gate uses it."""

    def on_call(self, actor: str, call: str, kinds: tuple[Fault, ...], *, surely: bool = False) -> Fault | None: ...

    def is_curious(self) -> bool: ...

    def out_at(self, now: int, call: str, items: Sequence[object], about: Sequence[object]) -> set[int]: ...

    def defect_at(self, actor: str, now: int, call: str, about: object) -> Meets | None: ...

    def sleep_ms(self, fault: Fault) -> int: ...

    def latency_ms(self) -> int: ...

    def some(self, count: int) -> set[int]: ...


def _states(about: tuple[object, ...]) -> list[str]:
    """The states of the records that a call saves."""
    wanted = about[0] if about and isinstance(about[0], list) else ()
    return sorted({str(one.state) for one in wanted if isinstance(one, Execution)})


class Acting:
    """Which actor is acting on the stores at this moment; a late effect belongs to the actor that made the call."""

    def __init__(self) -> None:
        self.actor: Actor | None = None


class Gate:
    """The gate through which one actor makes all its calls."""

    def __init__(
        self, actor: Actor, scheduler: Scheduler, adversary: Striking, history: History, acting: Acting
    ) -> None:
        self.actor = actor
        self._scheduler = scheduler
        self._adversary = adversary
        self._history = history
        self._acting = acting

    def read(self, call: str, effect: Callable[[], R], *about: object) -> R:
        """Makes a call that changes nothing."""
        return self._one(call, effect, OF_READ, about)

    def write(self, call: str, effect: Callable[[], R], *about: object) -> R:
        """Makes a call that changes one thing. Adapters repeat it, so the change may take place twice."""
        return self._one(call, effect, OF_WRITE, about)

    def attempt(self, call: str, effect: Callable[[], R], *about: object) -> R:
        """Makes a call to targets, which reports all faults as outcomes."""
        return self._one(call, effect, OF_TARGET, about)

    def _one(self, call: str, effect: Callable[[], R], kinds: tuple[Fault, ...], about: tuple[object, ...]) -> R:
        answer = self._struck(call, [None], lambda _: [effect()], kinds, about)[0]
        if isinstance(answer, NoAnswer):
            # DynamoDB says of a partition that it is read too fast. A call that gets no answer says nothing.
            raise (PartitionThrottled if kinds is OF_READ else Unavailable)(f"{call} got no answer")
        return answer

    def each(
        self,
        call: str,
        items: Sequence[I],
        effect: Effect[I, R],
        *about: object,
        kinds: tuple[Fault, ...] = OF_WRITE,
        overtake: Callable[[I], None] | None = None,
    ) -> Sequence[R | NoAnswer]:
        """Makes a call that does several things, each on its own; makes no call if there are no items.

        `overtake`: does what another writer would, right before an item's turn.
        """
        if not items:
            return []
        kinds = (*kinds, *OF_CONDITION) if overtake is not None else kinds
        kinds = kinds + OF_SEVERAL if len(items) > 1 else kinds
        return self._struck(call, items, effect, kinds, about, overtake)

    def _struck(
        self,
        call: str,
        items: Sequence[I],
        effect: Effect[I, R],
        kinds: tuple[Fault, ...],
        about: tuple[object, ...],
        overtake: Callable[[I], None] | None = None,
    ) -> Sequence[R | NoAnswer]:
        roles.require_allowed(self.actor.name, call, items, about)
        defect = self._adversary.defect_at(self.actor.name, self._scheduler.now, call, (items, about))
        kinds = (*kinds, Fault.DEFECT) if defect else kinds
        told = " ".join((call, *_states(about)))
        surely = defect is Meets.SURELY or self._adversary.is_curious()
        fault = self._adversary.on_call(self.actor.name, told, kinds, surely=surely)
        out = self._adversary.out_at(self._scheduler.now, call, items, about)
        fault = Fault.OUTAGE if out else fault
        self._history.add(self._scheduler.now, self.actor.name, call, fault, about)
        slept = fault in (Fault.SLOW, Fault.BEYOND_LEASE, Fault.BEYOND_VISIBILITY)
        early = self._adversary.some(2) == {0} if slept else False
        self.actor.pause(self._adversary.sleep_ms(fault) if fault and early else self._adversary.latency_ms())
        if fault is Fault.CRASH_BEFORE:
            raise Killed
        if fault is Fault.DEFECT:
            raise Defect(call)
        if fault is Fault.OVERTAKEN and overtake is not None:
            for index in sorted(self._adversary.some(len(items))):
                overtake(items[index])
        answers = self._without(out, items, effect) if out else self._done(fault, items, effect)
        if fault is Fault.CRASH_AFTER:
            raise Killed
        late = fault and slept and not early
        self.actor.pause(self._adversary.sleep_ms(fault) if fault and late else self._adversary.latency_ms())
        return answers

    def _done(self, fault: Fault | None, items: Sequence[I], effect: Effect[I, R]) -> Sequence[R | NoAnswer]:
        if fault is Fault.SPLIT:
            half = len(items) // 2
            first = self._apply(items[:half], effect)
            self.actor.pause(self._adversary.latency_ms() * 10)
            return [*first, *self._apply(items[half:], effect)]
        if fault not in OF_SOME:
            return self._apply(items, effect)
        struck = self._adversary.some(len(items))
        if fault in (Fault.THROTTLED, Fault.LANDS_LATE):
            if fault is Fault.LANDS_LATE:
                self._later([item for index, item in enumerate(items) if index in struck], effect)
            return self._without(struck, items, effect)
        those = [item for index, item in enumerate(items) if index in struck]
        if fault is Fault.CRASH_BETWEEN:
            self._apply(those, effect)
            raise Killed
        if fault is Fault.LANDS_TWICE:
            self._later(those, effect)
        done = list(self._apply(items, effect))
        lost = NEWER if fault is Fault.NEWER_RECORD else NO_ANSWER
        return done if fault is Fault.LANDS_TWICE else [lost if i in struck else one for i, one in enumerate(done)]

    def _without(self, struck: set[int], items: Sequence[I], effect: Effect[I, R]) -> Sequence[R | NoAnswer]:
        """The answers of a call that takes no effect for some of its items, and does not answer for them."""
        rest = iter(self._apply([item for index, item in enumerate(items) if index not in struck], effect))
        return [NO_ANSWER if index in struck else next(rest) for index in range(len(items))]

    def _later(self, items: Sequence[I], effect: Effect[I, R]) -> None:
        late = self._adversary.sleep_ms(Fault.BEYOND_LEASE if self._adversary.some(2) == {1} else Fault.SLOW)
        self._scheduler.after(late, lambda: self._landed(items, effect))

    def _landed(self, items: Sequence[I], effect: Effect[I, R]) -> None:
        self._history.add(self._scheduler.now, self.actor.name, "... landed late", None, ())
        self._apply(items, effect)

    def _apply(self, items: Sequence[I], effect: Effect[I, R]) -> Sequence[R]:
        if not items:
            return []
        self._acting.actor = self.actor
        try:
            return effect(items)
        finally:
            self._acting.actor = None
