"""Virtual time: a queue of planned actions, carried out in order."""

from __future__ import annotations

import heapq
from collections.abc import Callable


class Events:
    """A queue of actions. `now` is in ms; actions of one instant happen in the order in which they were planned."""

    def __init__(self) -> None:
        self.now = 0.0
        self._heap: list[tuple[float, int, Callable[[], None]]] = []
        self._number = 0

    def at(self, instant: float, action: Callable[[], None]) -> None:
        """Plan an action at an instant; an instant in the past means now."""
        self._number += 1
        heapq.heappush(self._heap, (max(instant, self.now), self._number, action))

    def after(self, ms: float, action: Callable[[], None]) -> None:
        """Plan an action this much later."""
        self.at(self.now + ms, action)

    def run(self, until: float) -> None:
        """Let time pass until `until`, or until no action is left."""
        while self._heap and self._heap[0][0] <= until:
            self.now, _, action = heapq.heappop(self._heap)
            action()
