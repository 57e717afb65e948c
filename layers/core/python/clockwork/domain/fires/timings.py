"""Timings: the compiled parts of a definition that decide about a job's instants, and their differences.

Two texts that compile to the same timing are the same, and no change of a schedule.
"""

from __future__ import annotations

from enum import Enum, auto

import msgspec

from clockwork.domain import ids
from clockwork.domain.named_jobs import Definition
from clockwork.domain.recurrence import Recurrence


class Retiming(Enum):
    """How the timing of a definition differs from the one before."""

    SAME = auto()  # it fires as before
    BOUNDS = auto()  # another choice of fires, another jitter or another place in an order: the period goes on
    BEAT = auto()  # another period: it starts anew
    MOVE = auto()  # a job that fires once fires at another instant


class Timing(msgspec.Struct, frozen=True):
    """When a definition fires, and its place in an order."""

    at: int | None
    recurrence: Recurrence | None
    ordering_key: str | None
    sequence: int | None

    @classmethod
    def of(cls, definition: Definition) -> Timing:
        """The timing of a definition. The zone of an interval that excludes nothing decides nothing."""
        recurrence = definition.recurrence
        if recurrence is not None and recurrence.every is not None and recurrence.exclude.is_empty:
            recurrence = msgspec.structs.replace(recurrence, timezone="UTC")
        return cls(definition.at, recurrence, definition.ordering_key, definition.sequence)

    @property
    def digest(self) -> str:
        """A digest of it, the same for equal timings."""
        return ids.digest_of([msgspec.msgpack.encode(self)])[:22]


def retiming(before: Definition, after: Definition) -> Retiming:
    """The difference between the timings of the definitions `before` and `after`."""
    old, new = Timing.of(before), Timing.of(after)
    if old == new:
        return Retiming.SAME
    if old.recurrence is None and new.recurrence is None:
        return Retiming.BOUNDS if old.at == new.at else Retiming.MOVE
    is_same_beat = _beat(old.recurrence) == _beat(new.recurrence)
    return Retiming.BOUNDS if is_same_beat else Retiming.BEAT


def _beat(recurrence: Recurrence | None) -> object:
    """The instants that a schedule names before its bounds choose among them."""
    if recurrence is None:
        return None
    return recurrence.every or (recurrence.cron, recurrence.timezone)
