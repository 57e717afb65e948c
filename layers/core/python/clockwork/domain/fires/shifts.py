"""Fires that a shift of the clock touches, such as the begin of daylight saving time."""

from __future__ import annotations

from typing import Literal

from clockwork.domain.cron.engine import fires_at_gap_end
from clockwork.domain.cron.zones import offset_at
from clockwork.domain.recurrence import Recurrence

#: `gap`: the clock skipped the time that the schedule names, and the fire comes at the gap's end. The others: the clock
#: shows the fire's time twice, and this is the first or the second pass.
Shift = Literal["gap", "overlapFirst", "overlapSecond"]


def shift_at(recurrence: Recurrence | None, base_at: int) -> Shift | None:
    """How a shift touches the fire at `base_at` (UTC ms) of a recurrence; None for most fires.

    Intervals know no clock.
    """
    if recurrence is None or recurrence.cron is None:
        return None
    second, cron = base_at // 1000, recurrence.cron
    run = offset_at(recurrence.timezone, second)
    local = second + run.offset
    is_after_gap = second == run.starts and run.skipped_from < local
    if is_after_gap and not cron.follows_clock and fires_at_gap_end(cron, run.skipped_from, local):
        return "gap"
    if local < run.repeats_until:
        return "overlapSecond"
    return "overlapFirst" if local >= run.repeated_from else None
