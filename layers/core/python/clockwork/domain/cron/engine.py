"""The cron engine finds the next fire: a pure function of a compiled schedule, a zone and an instant.

The rules are Debian cron's (its cron.c and crontab(5)), stated on local clock time and mapped to UTC here:

- A schedule whose minute or hour starts with ``*`` follows the wall clock: it fires whenever the clock shows a match.
- Any other schedule names times of day. If a shift of the clock skips such times, the schedule fires once, when the gap
  ends. If a shift repeats them, it fires on the first pass only. Both are options (`dst_gap`, `dst_overlap`).
- A shift of more than three hours sets a new time: the schedule catches up on no skipped time and holds back no
  repeated one.

The seconds do not decide which kind a schedule is: ``S M H d m w`` is treated like ``M H d m w``. All matches within a
gap, one or many, become one fire at the first second after the gap.
"""

from collections.abc import Iterator
from datetime import date

from clockwork.domain.cron.compiled import CompiledCron
from clockwork.domain.cron.days import matching_days, month_length
from clockwork.domain.cron.zones import DAY_SECONDS, offset_at

#: A schedule that does not fire within 28 years (and a day, for shifts) counts as one that never fires. Within 28 years
#: every date of the Gregorian calendar falls on every weekday, except around 2100.
HORIZON_SECONDS = (28 * 365 + 7 + 1) * DAY_SECONDS
#: Nothing fires before 1970 or from 2200 on.
LATEST_SECOND = 7_258_118_400

_EPOCH_ORDINAL = date(1970, 1, 1).toordinal()
_EPOCH_WEEKDAY = 4
_MONTHS_SEARCHED = 29 * 12


def next_fire(cron: CompiledCron, zone: str, after_at: int) -> int | None:
    """The first instant (UTC ms, a whole second) strictly after `after_at` (UTC ms) at which the schedule fires.

    None if it does not fire within 28 years or before the year 2200. Raises `UnknownZone`. The work is bounded: at
    most a few steps for each change of the zone's offset within those years.
    """
    second = max(after_at // 1000 + 1, 0)
    horizon = min(second + HORIZON_SECONDS, LATEST_SECOND - 1)
    while second <= horizon:
        starts, ends, offset, skipped_from, repeats_until, repeated_from = offset_at(zone, second)
        begin = low = second + offset
        high = ends + offset
        if not cron.follows_clock:
            if second == starts and skipped_from < low and fires_at_gap_end(cron, skipped_from, low):
                return second * 1000
            if cron.dst_overlap == "first":
                low = max(low, repeats_until)
            elif cron.dst_overlap == "second":
                high = repeated_from
        match = next_local(cron, low)
        if match is None:
            return None
        if match < high:
            fire = match - offset
            return fire * 1000 if fire <= horizon else None
        # Nothing matches before `match`, so the search may skip the runs of offset up to two days before it. But it
        # must have searched the last day of this run: only then can no backward shift lead to a time not searched.
        searched_enough = low == begin and begin + DAY_SECONDS <= ends + offset
        second = max(ends, match - 2 * DAY_SECONDS) if searched_enough else ends
    return None


def fires_between(cron: CompiledCron, zone: str, after_at: int, until_at: int) -> Iterator[int]:
    """All fires (UTC ms) strictly between the two instants, in order."""
    fire = next_fire(cron, zone, after_at)
    while fire is not None and fire < until_at:
        yield fire
        fire = next_fire(cron, zone, fire)


def fires_at_gap_end(cron: CompiledCron, skipped_from: int, gap_end: int) -> bool:
    """Whether the schedule fires at the end of a gap, because the gap skipped a match.

    The clock skipped the local times from `skipped_from` to before `gap_end`.
    """
    if cron.dst_gap == "skip":
        return False
    match = next_local(cron, skipped_from)
    return match is not None and match < gap_end


def next_local(cron: CompiledCron, low: int) -> int | None:
    """The first matching local time at or after `low`, both in seconds since 1970 on the local clock.

    It disregards zones and shifts. None if no month that it searches has a matching day.
    """
    day, time = divmod(low, DAY_SECONDS)
    today = date.fromordinal(day + _EPOCH_ORDINAL)
    month_day = today.day
    length = month_length(today.year, today.month)
    first_day = day - month_day + 1
    if cron.months >> today.month & 1:
        days = matching_days(cron, (first_day + _EPOCH_WEEKDAY) % 7, length) >> month_day
        if days & 1:
            match = _next_time(cron, time)
            if match is not None:
                return low - time + match
            days -= 1
        if days:
            return (day + _lowest_bit(days)) * DAY_SECONDS + _first_time(cron)
    later = _first_day_of_later_month(cron, today.year, today.month, first_day + length)
    return None if later is None else later * DAY_SECONDS + _first_time(cron)


def _first_day_of_later_month(cron: CompiledCron, year: int, month: int, first_day: int) -> int | None:
    """The first matching day (since 1970) in the months after the given one; `first_day` is the next month's first."""
    for _ in range(_MONTHS_SEARCHED):
        month += 1
        if month == 13:
            year, month = year + 1, 1
        length = month_length(year, month)
        if cron.months >> month & 1:
            days = matching_days(cron, (first_day + _EPOCH_WEEKDAY) % 7, length)
            if days:
                return first_day + _lowest_bit(days) - 1
        first_day += length
    return None


def _next_time(cron: CompiledCron, time: int) -> int | None:
    """The first matching second of the day at or after `time`."""
    hour, rest = divmod(time, 3600)
    hours = cron.hours >> hour
    if hours & 1:
        minute, second = divmod(rest, 60)
        minutes = cron.minutes >> minute
        if minutes & 1:
            seconds = cron.seconds >> second
            if seconds:
                return time + _lowest_bit(seconds)
            minutes -= 1
        if minutes:
            return hour * 3600 + (minute + _lowest_bit(minutes)) * 60 + _lowest_bit(cron.seconds)
        hours -= 1
    if hours:
        return (hour + _lowest_bit(hours)) * 3600 + _lowest_bit(cron.minutes) * 60 + _lowest_bit(cron.seconds)
    return None


def _first_time(cron: CompiledCron) -> int:
    return _lowest_bit(cron.hours) * 3600 + _lowest_bit(cron.minutes) * 60 + _lowest_bit(cron.seconds)


def _lowest_bit(bits: int) -> int:
    return (bits & -bits).bit_length() - 1
