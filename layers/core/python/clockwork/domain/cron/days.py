"""Which days of a month a compiled schedule matches: a pure function of the month's length and first weekday."""

from clockwork.domain.cron.compiled import CompiledCron

SUNDAY, SATURDAY = 0, 6
_LENGTHS = (0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_WEEKLY = 1 << 1 | 1 << 8 | 1 << 15 | 1 << 22 | 1 << 29


def month_length(year: int, month: int) -> int:
    """The number of days of a Gregorian month."""
    if month == 2 and year % 4 == 0 and (year % 100 != 0 or year % 400 == 0):
        return 29
    return _LENGTHS[month]


def matching_days(cron: CompiledCron, first_weekday: int, length: int) -> int:
    """The days 1..length that match, as bits, in a month that starts on `first_weekday` (0 = Sunday).

    The function does not know which month it is: the caller checks `CompiledCron.months`.
    """
    by_date = cron.days
    if cron.last_day or cron.last_working_day or cron.nearest_working_days:
        by_date |= _special_dates(cron, first_weekday, length)
    by_week = _from_weekday(cron.weekdays, first_weekday) * _WEEKLY
    if cron.nth_weekdays or cron.last_weekdays:
        by_week |= _special_weekdays(cron, first_weekday, length)
    matching = by_date | by_week if cron.either_day else by_date & by_week
    return matching & ((2 << length) - 2)


def _from_weekday(weekdays: int, first_weekday: int) -> int:
    """Weekday bits rotated so that bit 0 is `first_weekday`."""
    return (weekdays | weekdays << 7) >> first_weekday & 127


def _special_dates(cron: CompiledCron, first_weekday: int, length: int) -> int:
    dates = 1 << length if cron.last_day else 0
    if cron.last_working_day:
        dates |= 1 << _nearest_working_day(length, first_weekday, length)
    for day in range(1, length + 1):
        if cron.nearest_working_days >> day & 1:
            dates |= 1 << _nearest_working_day(day, first_weekday, length)
    return dates


def _nearest_working_day(day: int, first_weekday: int, length: int) -> int:
    """The Monday-to-Friday nearest to `day` that lies in the same month."""
    weekday = (first_weekday + day - 1) % 7
    if weekday == SATURDAY:
        return day - 1 if day > 1 else day + 2
    if weekday == SUNDAY:
        return day + 1 if day < length else day - 2
    return day


def _special_weekdays(cron: CompiledCron, first_weekday: int, length: int) -> int:
    days = _from_weekday(cron.last_weekdays, (first_weekday + length) % 7) << (length - 6)
    for week in range(5):
        days |= _from_weekday(cron.nth_weekdays >> 7 * week & 127, first_weekday) << (1 + 7 * week)
    return days
