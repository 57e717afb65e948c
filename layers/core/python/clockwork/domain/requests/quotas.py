"""What a client may create: so many jobs a second, so many on a day of UTC."""

from __future__ import annotations

import math

import msgspec

from clockwork.domain.executions import DAY_MS

#: What one environment may let in beyond the pace, so that a client may be irregular (ms of its pace).
BURST_MS = 1_000
#: Jobs of a day are reserved a block at a time: a hundredth of the day's, at most so many.
LARGEST_BLOCK = 100


class Pace(msgspec.Struct, frozen=True):
    """Whether a request is let in: then `paid_until_at` (ms) is the pace's new mark, otherwise when to ask again."""

    admitted: bool
    paid_until_at: int
    retry_after_seconds: int = 0


def plan_pace(paid_until_at: int, count: int, per_second: float, now: int) -> Pace:
    """Let in `count` jobs at `per_second`, given up to when those before have used the pace up.

    A request is let in whole as soon as its predecessors are paid for but for a second's worth, however large it is:
    the next one then waits the longer. So the average holds, and a batch larger than the pace is not refused for ever.
    """
    ahead_ms = paid_until_at - now - BURST_MS
    if ahead_ms > 0:
        return Pace(False, paid_until_at, math.ceil(ahead_ms / 1000))
    return Pace(True, max(paid_until_at, now) + math.ceil(count * 1000 / per_second))


def block_of(jobs_per_day: int) -> int:
    """How many jobs of a day are reserved by one write."""
    return max(1, min(LARGEST_BLOCK, jobs_per_day // 100))


def day_of(at: int) -> int:
    """The UTC day of an instant, counted from the epoch."""
    return at // DAY_MS


def seconds_left_of_day(now: int) -> int:
    """Whole seconds until the next UTC day has begun."""
    return math.ceil((DAY_MS - now % DAY_MS) / 1000)
