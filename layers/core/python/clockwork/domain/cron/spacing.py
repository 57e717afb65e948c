"""How close two fires of a cron expression come, judged on the wall clock without looking for the fires themselves."""

from datetime import date

from clockwork.domain.cron.compiled import CompiledCron
from clockwork.domain.cron.days import matching_days, month_length
from clockwork.domain.cron.exclusion import seconds_of
from clockwork.domain.cron.zones import DAY_SECONDS

#: The number of months that are judged. Any eight years have every length of a month, and a 29 February.
MONTHS = 96
#: The cost of judging an expression, in the units of `parser.COST_OF_EXPRESSION`.
COST_OF_SPACING = 400


def fires_closer_than(cron: CompiledCron, seconds: int, today: date) -> bool:
    """Whether two fires of an expression are less than so many seconds apart, in eight years from this month on.

    The fields are judged on a clock that is never shifted: exclusions, jitter and changes of the clock do not count.
    The work is 96 months, a millisecond or less, for any expression.
    """
    times = seconds_of(cron)
    first, last = _lowest(times), times.bit_length() - 1
    # The last fire of one day and the first of another are closer than `seconds` if the days are at most so far apart.
    days_apart = (seconds + last - first - 1) // DAY_SECONDS
    if not _any_within(times, seconds - 1) and days_apart == 0:
        return False
    days = _days_from(cron, today)
    return (days != 0 and _any_within(times, seconds - 1)) or _any_within(days, days_apart)


def _days_from(cron: CompiledCron, today: date) -> int:
    """The days that match from the first of this month on, as bits."""
    days = start = 0
    for number in range(MONTHS):
        years, month = divmod(today.month - 1 + number, 12)
        first = date(today.year + years, month + 1, 1)
        length = month_length(first.year, first.month)
        if cron.months >> first.month & 1:
            days |= matching_days(cron, first.isoweekday() % 7, length) >> 1 << start
        start += length
    return days


def _any_within(bits: int, most: int) -> bool:
    """Whether two of the set bits are at most so many places apart."""
    reach = min(most, bits.bit_length())
    near, covered = bits >> 1, 1
    while covered < reach:
        step = min(covered, reach - covered)
        near, covered = near | near >> step, covered + step
    return reach > 0 and bits & near != 0


def _lowest(bits: int) -> int:
    return (bits & -bits).bit_length() - 1
