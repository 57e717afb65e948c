"""Collects the arrivals of jobs, as the webhook receiver and the queue's reader saw them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass

from local.demo.plan import Channel


@dataclass(frozen=True)
class Arrival:
    """One attempt at a target, at an instant in epoch ms. `accepted`: answered 2xx, or read from the queue."""

    execution_id: str
    at: int
    channel: Channel
    accepted: bool
    note: str = ""


class Arrivals:
    """Collects arrivals from several threads; `on_arrival` is called with each, by the thread that brings it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._by_execution: dict[str, tuple[Arrival, ...]] = {}
        self.on_arrival: Callable[[Arrival], None] | None = None

    def add(self, arrival: Arrival) -> None:
        """Keep one more arrival."""
        with self._lock:
            self._by_execution[arrival.execution_id] = (*self.of(arrival.execution_id), arrival)
        if self.on_arrival is not None:
            self.on_arrival(arrival)

    def of(self, execution_id: str) -> tuple[Arrival, ...]:
        """The arrivals of one execution, in the order in which they came."""
        return self._by_execution.get(execution_id, ())
