"""Virtual time: what is to happen, in order."""

from __future__ import annotations

import heapq
from collections.abc import Callable


class Events:
    """A queue of actions. `now` is in ms; what is scheduled for the same instant happens in the order of scheduling."""

    def __init__(self) -> None:
        self.now = 0.0
        self._heap: list[tuple[float, int, Callable[[], None]]] = []
        self._number = 0

    def at(self, instant: float, action: Callable[[], None]) -> None:
        """Do something at an instant; what lies in the past happens now."""
        self._number += 1
        heapq.heappush(self._heap, (max(instant, self.now), self._number, action))

    def after(self, ms: float, action: Callable[[], None]) -> None:
        """Do something so much later."""
        self.at(self.now + ms, action)

    def run(self, until: float) -> None:
        """Let time pass until `until`, or until nothing is left to happen."""
        while self._heap and self._heap[0][0] <= until:
            self.now, _, action = heapq.heappop(self._heap)
            action()
