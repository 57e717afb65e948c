"""Targets and an invoker in plain Python, which record the calls that they get."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from clockwork.domain.executions import Outcome, State
from clockwork.domain.releases import Delivery
from clockwork.ports import Clock


class MemoryTargets:
    """`ports.Targets` that ask a function for each outcome; by default every attempt succeeds at once.

    `ask` is the same for errands: by default whatever an attempt began has ended well once somebody asks.
    """

    def __init__(self, clock: Clock, answer: Callable[[Delivery], Outcome] | None = None) -> None:
        self._clock = clock
        self.ask: Callable[[Delivery], Outcome] = self._end
        self.errands: list[Delivery] = []
        self._answer = answer or self._succeed
        self._ended: list[tuple[int, Outcome]] = []
        self.delivered: list[Delivery] = []

    def forget(self) -> None:
        self._ended.clear()

    def begin(self, slot: int, delivery: Delivery) -> None:
        too_late = delivery.too_late(self._clock.now())
        if delivery.errand is not None:
            self.errands.append(delivery)
            self._ended.append((slot, too_late or self.ask(delivery)))
            return
        if too_late is None:
            self.delivered.append(delivery)
        self._ended.append((slot, too_late or self._answer(delivery)))

    def collect(self) -> Sequence[tuple[int, Outcome]]:
        ended, self._ended = self._ended, []
        return ended

    def _end(self, _: Delivery) -> Outcome:
        return Outcome(State.SUCCEEDED, self._clock.now(), self._clock.now(), answer=b"null", told=True)

    def _succeed(self, _: Delivery) -> Outcome:
        return Outcome(State.SUCCEEDED, self._clock.now(), self._clock.now(), status_code=200)


class MemoryInvoker:
    """`ports.Invoker` that records the pollers that it was asked to start.

    `asked` lists the shards that were to get a poller, and `together` those of them that were to share one.
    `successors` lists the shards whose poller asked for a successor.
    `lookaheads`: how far ahead each of all these pollers was to look (s), None for as far as the setting says.
    `swept`: the clients for which a sweep was asked.
    """

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.together: list[Sequence[str]] = []
        self.successors: list[str] = []
        self.lookaheads: list[int | None] = []
        self.swept: list[str] = []

    def poll(self, partition_id: str, *, succeeds: bool = False, lookahead_seconds: int | None = None) -> None:
        (self.successors if succeeds else self.asked).append(partition_id)
        self.lookaheads.append(lookahead_seconds)

    def poll_together(self, partition_ids: Sequence[str], *, lookahead_seconds: int | None = None) -> None:
        self.together.append(partition_ids)
        self.lookaheads.append(lookahead_seconds)
        self.asked += partition_ids

    def sweep(self, client_id: str) -> None:
        self.swept.append(client_id)
