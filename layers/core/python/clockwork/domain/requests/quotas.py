"""Quotas: how many jobs a client may create per second, and how many per day of UTC."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Protocol

import msgspec

from clockwork.domain.executions import DAY_MS

#: One environment may admit this much beyond the pace (in ms of it), so that a client may create irregularly.
BURST_MS = 1_000
#: Environments reserve a day's jobs in blocks: a hundredth of the day's quota, at most so many.
LARGEST_BLOCK = 100
#: The longest debt (ms of the pace) of calls that were let in without room.
MOST_OWED_MS = 60_000
#: A call about many jobs that changes none costs a create for this many jobs read. It also costs a create for this many
#: jobs that were as asked for already, since each of these is looked at again.
READ_FOR_A_CREATE = 100
LOOKED_AT_FOR_A_CREATE = 10
#: Lets in so much work of a client, as so many creates. Raises TooManyRequests, or Unavailable.
AdmitWork = Callable[[int], None]


class Admit(Protocol):
    """Lets in occurrences of a client, and counts them."""

    def __call__(self, count: int, nodes: int = 0) -> None:
        """Let in `count` occurrences, of which runs of workflows have `nodes` nodes together.

        Raises TooManyRequests if a cap forbids it, or Unavailable.
        """


def admitted(count: int) -> None:
    """The AdmitWork of calls that no cap may refuse."""


class Pace(msgspec.Struct, frozen=True):
    """The decision about one request: admitted, with the pace's new mark (ms), or when the client may ask again."""

    admitted: bool
    paid_until_at: int
    retry_after_seconds: int = 0


def plan_pace(paid_until_at: int, count: int, per_second: float, now: int) -> Pace:
    """Decide about a request of `count` jobs at `per_second`, by a token bucket that may go into debt.

    The bucket holds one second's worth. Earlier jobs have used the pace up until `paid_until_at` (ms). A request is
    admitted whole, however large it is, once at most one second's worth of the earlier jobs is unpaid. The next request
    then waits longer. The average holds, and a batch larger than the pace is not refused for ever.
    """
    ahead_ms = paid_until_at - now - BURST_MS
    if ahead_ms > 0:
        return Pace(False, paid_until_at, math.ceil(ahead_ms / 1000))
    return Pace(True, max(paid_until_at, now) + math.ceil(count * 1000 / per_second))


def plan_owed(paid_until_at: int, count: int, per_second: float, now: int) -> int:
    """The pace's new mark (ms) after a request of `count` jobs that was let in whether or not there was room for it."""
    owed_until_at = max(paid_until_at, now) + math.ceil(count * 1000 / per_second)
    return max(paid_until_at, min(owed_until_at, now + MOST_OWED_MS))


def creates_of(read: int, looked_at: int) -> int:
    """As how many creates a call counts that read so many jobs, and looked so many through again, and changed none."""
    return read // READ_FOR_A_CREATE + looked_at // LOOKED_AT_FOR_A_CREATE


def block_of(jobs_per_day: int) -> int:
    """How many jobs of a day one write reserves."""
    return max(1, min(LARGEST_BLOCK, jobs_per_day // 100))


def day_of(at: int) -> int:
    """The UTC day of an instant, counted from the epoch."""
    return at // DAY_MS


def seconds_left_of_day(now: int) -> int:
    """Whole seconds until the next UTC day has begun."""
    return math.ceil((DAY_MS - now % DAY_MS) / 1000)
