"""What a Lambda has besides its tables and queues: a clock, random numbers, pollers to start, targets to deliver to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from clockwork.domain.executions import Outcome
from clockwork.domain.releases import Delivery


class Clock(Protocol):
    """The wall clock of one machine. Clocks of two machines differ."""

    def now(self) -> int:
        """The instant, rounded down to ms."""

    def hold_until(self, at: int) -> None:
        """Return when `now() >= at`, at once if it is already."""


class Random(Protocol):
    """The source of everything that must not be predictable, or must not be the same twice."""

    def token(self) -> str:
        """22 characters of base64url that nobody can guess and that never come again (128 bits)."""

    def below(self, count: int) -> int:
        """An evenly drawn number, 0 <= number < count."""

    def fraction(self) -> float:
        """An evenly drawn number, 0 <= number < 1."""


class Invoker(Protocol):
    """Starts pollers. They look `lookahead_seconds` ahead, unless given as far as the setting says."""

    def poll(self, partition_id: str, *, succeeds: bool = False, lookahead_seconds: int | None = None) -> None:
        """Ask for a poller of this shard now; it runs later or, rarely, never (the next tick is the fallback).

        `succeeds`: it is to wait for the lease of the one that asks.
        """

    def poll_together(self, partition_ids: Sequence[str], *, lookahead_seconds: int | None = None) -> None:
        """Ask for one poller of several shards, alike."""


class Targets(Protocol):
    """Where occurrences go. One object belongs to one deliverer at a time, and lives on with its environment."""

    def forget(self) -> None:
        """Whatever is under way is nobody's any more, as after an invocation that ended with an error: none of it is
        collected, and its slots are free. It may still arrive.
        """

    def begin(self, slot: int, delivery: Delivery) -> None:
        """Start an attempt and return at once. `slot` names it among those under way."""

    def collect(self) -> Sequence[tuple[int, Outcome]]:
        """Wait until at least one attempt under way has ended; all that have, by slot. Empty if none is under way.

        An attempt ends by its delivery's deadline whatever the target does. Never raises: faults are outcomes.
        """
