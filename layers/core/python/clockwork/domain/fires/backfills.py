"""Backfills: a past range of a schedule that is executed again at a bounded rate."""

from __future__ import annotations

import msgspec

from clockwork.domain.errors import InvalidRequest, Problem
from clockwork.domain.fires.chains import anchored_back, fire_after, ordinal_at
from clockwork.domain.fires.timings import Timing
from clockwork.domain.named_jobs import Backfill, NamedJob, Pointer
from clockwork.domain.recurrence import Fire

#: One backfill has at most this many fires: to count more would take longer than a request may take.
MOST_FIRES = 100_000


class FiresOfRange(msgspec.Struct, frozen=True):
    """The fires of a job's schedule in a range: the first of them (None if there are none), and how many there are."""

    first: Fire | None
    count: int


class PlannedBackfill(msgspec.Struct, frozen=True):
    """A backfill with the number of its fires, and the pointer to the first of them (None if there are none)."""

    backfill_id: str
    count: int
    pointer: Pointer | None


def fires_of_range(job: NamedJob, from_at: int, to_at: int) -> FiresOfRange:
    """Every fire of the job's schedule from `from_at` to `to_at` (ms, both included).

    An interval counts back to before the job was made. There are no fires behind the last one that `maxFires` allows.
    Raises InvalidRequest if the range holds more than 100,000 fires.
    """
    job = anchored_back(job, from_at)
    first = fire = fire_after(job, from_at - 1, ordinal_at(job, from_at - 1))
    count = 0
    while fire is not None and fire.base_at <= to_at:
        count += 1
        if count > MOST_FIRES:
            raise InvalidRequest([Problem("/to", f"the range holds more than {MOST_FIRES:,} fires: take shorter ones")])
        fire = fire_after(job, fire.base_at, fire.ordinal)
    return FiresOfRange(first if count else None, count)


def why_none(job: NamedJob, from_at: int, to_at: int) -> str:
    """The reason why a job's schedule has no fire from `from_at` to `to_at` (ms, both included)."""
    recurrence = job.definition.recurrence
    if recurrence is None:
        return "the job fires once, at another instant"
    if recurrence.start_at is not None and to_at < recurrence.start_at:
        return "its startAt lies behind the range"
    if recurrence.end_at is not None and from_at > recurrence.end_at:
        return "its endAt lies before the range"
    if recurrence.max_fires is not None and ordinal_at(job, from_at - 1) >= recurrence.max_fires:
        return "maxFires were over before the range"
    return "its schedule names no instant in the range"


def plan_backfill(
    job: NamedJob, backfill_id: str, fires: FiresOfRange, to_at: int, per_second: float, now: int
) -> PlannedBackfill:
    """Plan a backfill of the `fires` of a range that ends at `to_at` (ms, included), `per_second` a second."""
    if fires.first is None:
        return PlannedBackfill(backfill_id, 0, None)
    timing = Timing.of(job.definition).digest
    backfill = Backfill(backfill_id, job.incarnation, timing, to_at, now, per_second, count=fires.count)
    pointer = Pointer(job.client_id, job.job_key, backfill_id, fires.first, backfill)
    return PlannedBackfill(backfill_id, fires.count, pointer)
