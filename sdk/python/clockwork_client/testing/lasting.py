"""Attempts that take time: those of a batch run side by side, and the clock moves to the end of each in turn."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

import msgspec

from clockwork.domain.executions import Outcome, State
from clockwork.domain.releases import Delivery
from clockwork.memory.clock import MemoryClock
from clockwork.memory.targets import MemoryTargets


class LastingTargets:
    """`ports.Targets` over others, whose outcomes may end later than now."""

    def __init__(self, targets: MemoryTargets, clock: MemoryClock) -> None:
        self._targets = targets
        self._clock = clock
        self._waiting: list[tuple[int, Outcome]] = []

    def forget(self) -> None:
        """Drop attempts that an earlier batch left."""
        self._waiting.clear()
        self._targets.forget()

    def begin(self, slot: int, delivery: Delivery) -> None:
        """Begin an attempt."""
        self._targets.begin(slot, delivery)

    def collect(self) -> Sequence[tuple[int, Outcome]]:
        """The attempts that end next; the clock is at their end then."""
        self._waiting += self._targets.collect()
        if self._waiting:
            self._clock.hold_until(min(outcome.ended_at for _, outcome in self._waiting))
        now = self._clock.now()
        ended = [one for one in self._waiting if one[1].ended_at <= now]
        self._waiting = [one for one in self._waiting if one[1].ended_at > now]
        return ended


def lasted(outcome: Outcome, began_at: int, takes: float | timedelta, longest: float) -> Outcome:
    """The outcome of an attempt that began then (ms) and takes so long (s), or times out after `longest` (s)."""
    seconds = takes.total_seconds() if isinstance(takes, timedelta) else takes
    if seconds > longest:
        ended_at = began_at + round(longest * 1000)
        return Outcome(State.TIMED_OUT, began_at, ended_at, error=f"no answer within {longest:g} s")
    return msgspec.structs.replace(outcome, started_at=began_at, ended_at=outcome.ended_at + round(seconds * 1000))
