"""Counts the fires of a schedule between two instants, day by day instead of fire by fire.

A day is a number with one bit for each of its 86,400 seconds, on the clock of the schedule's zone. The bits of the
seconds with a fire, less those of excluded seconds, are counted. No schedule fires twice in a second.
"""

from collections.abc import Iterator
from math import gcd

from clockwork.domain.cron.compiled import CompiledCron
from clockwork.domain.cron.engine import LATEST_SECOND, fires_at_gap_end
from clockwork.domain.cron.exclusion import excluded_days, matches_day, seconds_of
from clockwork.domain.cron.zones import DAY_SECONDS, Offset, offset_at
from clockwork.domain.recurrence import Every, Recurrence, Work

#: The cost of counting a day, and the number of excluded expressions that cost one unit more (of `Work`, about a
#: microsecond).
COST_OF_DAY, ENTRIES_OF_A_UNIT = 16, 4


def count_fires(recurrence: Recurrence, after_at: int, until_at: int, work: Work | None = None) -> int:
    """How many fires have their base instant after `after_at` and up to `until_at` (ms), disregarding `max_fires`.

    The work is about COST_OF_DAY microseconds for each day between the two and, with exclusions, more for their
    entries. An interval without exclusions needs none of it. Raises `UnknownZone`, and `TooMuchWork` if the given
    `work` does not suffice.
    """
    after_at, until_at = _bounds(recurrence, after_at, until_at)
    if recurrence.every is not None and recurrence.exclude.is_empty:
        return max(0, _ticks(recurrence.every, until_at) - _ticks(recurrence.every, after_at))
    if work is not None and until_at > after_at:
        days = (until_at - after_at) // (DAY_SECONDS * 1000) + 1
        work.spend(days * (COST_OF_DAY + len(recurrence.exclude.crons) // ENTRIES_OF_A_UNIT))
    return sum(bits.bit_count() for _, bits in _stretches(recurrence, after_at, until_at))


def last_base(recurrence: Recurrence, after_at: int, until_at: int) -> int | None:
    """The last base instant (ms) after `after_at` and up to `until_at` (ms), if there is one; disregards `max_fires`.

    The search takes the last day, then the last eight, and so on. Its work is a count from the found fire to
    `until_at`, or a seventh more. No instant beyond `until_at` is looked at. Raises `UnknownZone`.
    """
    after_at, until_at = _bounds(recurrence, after_at, until_at)
    reach_ms = DAY_SECONDS * 1000
    while until_at > after_at:
        begin_at = max(after_at, until_at - reach_ms)
        found = None
        for start, bits in _stretches(recurrence, begin_at, until_at):
            found = start + bits.bit_length() - 1 if bits else found
        if found is not None:
            return _base_in(recurrence, found)
        if begin_at == after_at:
            return None
        reach_ms *= 8
    return None


def nth_base(recurrence: Recurrence, after_at: int, number: int) -> int | None:
    """The base instant (ms) of the fire that is the `number`-th after `after_at` (ms, 1 for the first one).

    None if there are fewer. The work is a count up to that fire. Raises `UnknownZone`.
    """
    for start, bits in _stretches(recurrence, *_bounds(recurrence, after_at, LATEST_SECOND * 1000)):
        count = bits.bit_count()
        if number <= count:
            for _ in range(number - 1):
                bits &= bits - 1
            return _base_in(recurrence, start + (bits & -bits).bit_length() - 1)
        number -= count
    return None


def _base_in(recurrence: Recurrence, second: int) -> int:
    """The base instant (ms) in a UTC second that has one."""
    if recurrence.every is None:
        return second * 1000
    anchor_at, every_ms = recurrence.every.anchor_at, recurrence.every.every_ms
    return anchor_at + (second * 1000 + 999 - anchor_at) // every_ms * every_ms


def _bounds(recurrence: Recurrence, after_at: int, until_at: int) -> tuple[int, int]:
    """The two instants (ms), cut to the schedule's own bounds and to the range that can be planned."""
    after_at = max(after_at, -1 if recurrence.start_at is None else recurrence.start_at - 1)
    until_at = min(until_at, LATEST_SECOND * 1000 - 1)
    return after_at, until_at if recurrence.end_at is None else min(until_at, recurrence.end_at)


def _stretches(recurrence: Recurrence, after_at: int, until_at: int) -> Iterator[tuple[int, int]]:
    """Stretches of up to a day, in order: the first UTC second of each, and as bits the seconds in which it fires."""
    if recurrence.every is None:
        yield from _of_seconds(recurrence, after_at // 1000 + 1, until_at // 1000)
        return
    before, ticks = _ticks(recurrence.every, after_at), _ticks(recurrence.every, until_at)
    if ticks > before:
        anchor_at, every_ms = recurrence.every.anchor_at, recurrence.every.every_ms
        first_at, last_at = anchor_at + before * every_ms, anchor_at + (ticks - 1) * every_ms
        yield from _of_seconds(recurrence, first_at // 1000, last_at // 1000)


def _ticks(every: Every, at: int) -> int:
    """How many fires of an interval, the one at its anchor included, lie at or before `at` (ms)."""
    return max(0, (at - every.anchor_at) // every.every_ms + 1)


def _of_seconds(recurrence: Recurrence, first: int, last: int) -> Iterator[tuple[int, int]]:
    """As `_stretches`, from the UTC second `first` to `last`, both included."""
    second = first
    while second <= last:
        run = offset_at(recurrence.timezone, second)
        low, high = second + run.offset, min(run.ends, last + 1) + run.offset
        if recurrence.cron is not None and not recurrence.cron.follows_clock:
            if second == run.starts and _catches_up(recurrence.cron, run, low):
                yield second, int(not _is_excluded(recurrence, low))
                low += 1
            low, high = _shifted(recurrence.cron.dst_overlap, run, low, high)
        for local, bits in _days(recurrence, run.offset, low, high):
            yield local - run.offset, bits
        second = run.ends


def _catches_up(cron: CompiledCron, run: Offset, low: int) -> bool:
    return run.skipped_from < low and fires_at_gap_end(cron, run.skipped_from, low)


def _shifted(overlap: str, run: Offset, low: int, high: int) -> tuple[int, int]:
    """The part of a stretch of local time in a run that counts for a schedule which names times of day."""
    if overlap == "first":
        return max(low, run.repeats_until), high
    return low, min(high, run.repeated_from) if overlap == "second" else high


def _is_excluded(recurrence: Recurrence, local: int) -> bool:
    day, time = divmod(local, DAY_SECONDS)
    return bool(excluded_days(recurrence.exclude).seconds(day) >> time & 1)


def _days(recurrence: Recurrence, offset: int, low: int, high: int) -> Iterator[tuple[int, int]]:
    """For each day from the local second `low` to before `high`: its first second, and as bits those with a fire."""
    for day in range(low // DAY_SECONDS, -(-high // DAY_SECONDS)):
        midnight = day * DAY_SECONDS
        begin, end = max(low - midnight, 0), min(high - midnight, DAY_SECONDS)
        bits = _seconds(recurrence, offset, day)
        if bits and begin < end:
            free = bits & ~excluded_days(recurrence.exclude).seconds(day)
            yield midnight + begin, free >> begin & (1 << end - begin) - 1


def _seconds(recurrence: Recurrence, offset: int, day: int) -> int:
    if recurrence.cron is not None:
        return seconds_of(recurrence.cron) if matches_day(recurrence.cron, day) else 0
    assert recurrence.every is not None
    every_ms = recurrence.every.every_ms
    first_ms = (recurrence.every.anchor_at - (day * DAY_SECONDS - offset) * 1000) % every_ms
    # The pattern of seconds repeats after `period`, as often as a day has room for it.
    period = min(every_ms // gcd(every_ms, 1000), DAY_SECONDS)
    bits = 0
    for ms in range(first_ms, period * 1000, every_ms):
        bits |= 1 << ms // 1000
    while period < DAY_SECONDS:
        bits |= bits << period
        period *= 2
    return bits
