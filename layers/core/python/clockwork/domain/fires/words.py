"""A schedule in a sentence of English."""

from __future__ import annotations

from clockwork.domain.cron.description import description
from clockwork.domain.recurrence import Recurrence

#: Unit of an interval -> its length in ms, the longest first.
_UNITS = {"day": 86_400_000, "hour": 3_600_000, "minute": 60_000, "second": 1_000}


def in_words(recurrence: Recurrence | None) -> str:
    """`At 02:30, every day.`, `Every 90 seconds.`, or `Once.` without a recurrence. It tells no zone and no bounds."""
    if recurrence is None:
        return "Once."
    if recurrence.cron is not None:
        return description(recurrence.cron)
    assert recurrence.every is not None
    every_ms = recurrence.every.every_ms
    for noun, size in _UNITS.items():
        if every_ms % size == 0:
            count = every_ms // size
            return f"Every {noun}." if count == 1 else f"Every {count} {noun}s."
    return f"Every {every_ms / 1000:g} seconds."
