"""Exclusions: the dates that a schedule leaves out, and the times at which the clock matches a cron expression."""

from datetime import date
from functools import lru_cache

from msgspec import Struct

from clockwork.domain.cron.compiled import ALL_HOURS, ALL_MINUTES, ALL_SECONDS, CompiledCron
from clockwork.domain.cron.days import matching_days, month_length
from clockwork.domain.cron.zones import DAY_SECONDS, offset_at

_EPOCH_ORDINAL = date(1970, 1, 1).toordinal()
_EPOCH_WEEKDAY = 4
#: Every second of a day, as bits.
ALL_DAY = (1 << DAY_SECONDS) - 1


class Exclusion(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True, rename="camel"):
    """Excluded dates as days since 1970, and excluded cron expressions. `exclude_parser.parse_exclude` makes it.

    Both count on the clock of the schedule's zone. An expression excludes every second at which the clock matches its
    fields: no rule for shifts of the clock applies. An expression of five fields excludes whole minutes.
    """

    days: tuple[int, ...] = ()
    crons: tuple[CompiledCron, ...] = ()

    @property
    def is_empty(self) -> bool:
        """True if nothing is excluded."""
        return not self.days and not self.crons


def excluded_until(exclusion: Exclusion, zone: str, at: int) -> int | None:
    """None if the instant (UTC ms) is not excluded; otherwise a later one up to which every instant is excluded.

    Raises `UnknownZone`.
    """
    if exclusion.is_empty:
        return None
    run = offset_at(zone, at // 1000)
    local = at // 1000 + run.offset
    free = _free_from(exclusion, local)
    return None if free is None else min(free - run.offset, run.ends) * 1000


def excluded_seconds(exclusion: Exclusion, day: int) -> int:
    """The excluded seconds of a local day (days since 1970), as one bit for each second on the clock."""
    if day in exclusion.days:
        return ALL_DAY
    bits = 0
    for cron in exclusion.crons:
        if matches_day(cron, day):
            bits |= seconds_of(cron)
    return bits


@lru_cache(maxsize=256)
def seconds_of(cron: CompiledCron) -> int:
    """The seconds of a day that an expression's hour, minute and second match, as bits; at most 11 KB."""
    hour = sum(cron.seconds << 60 * minute for minute in range(60) if cron.minutes >> minute & 1)
    return sum(hour << 3600 * number for number in range(24) if cron.hours >> number & 1)


def _free_from(exclusion: Exclusion, local: int) -> int | None:
    """None if the local second is not excluded; otherwise a later one before which all are, midnight at the latest."""
    day, time = divmod(local, DAY_SECONDS)
    midnight = local - time + DAY_SECONDS
    if day in exclusion.days:
        return midnight
    crons = [cron for cron in exclusion.crons if matches_day(cron, day)]
    if any(cron.hours == ALL_HOURS and cron.minutes == ALL_MINUTES and cron.seconds == ALL_SECONDS for cron in crons):
        return midnight
    return _free_in_hour([cron for cron in crons if cron.hours >> time // 3600 & 1], local)


def _free_in_hour(crons: list[CompiledCron], local: int) -> int | None:
    """Like `_free_from`, for the expressions that match the day and the hour; the end of the hour at the latest."""
    minute, second = divmod(local % 3600, 60)
    minutes = seconds = 0
    for cron in crons:
        if cron.seconds == ALL_SECONDS:
            minutes |= cron.minutes
        elif cron.minutes >> minute & 1:
            seconds |= cron.seconds
    if minutes >> minute & 1:
        return local - second + _ones(minutes >> minute) * 60
    return local + _ones(seconds >> second) if seconds >> second & 1 else None


def matches_day(cron: CompiledCron, day: int) -> bool:
    """Whether the expression matches a local day (days since 1970)."""
    today = date.fromordinal(day + _EPOCH_ORDINAL)
    if not cron.months >> today.month & 1:
        return False
    first_weekday = (day - today.day + 1 + _EPOCH_WEEKDAY) % 7
    return bool(matching_days(cron, first_weekday, month_length(today.year, today.month)) >> today.day & 1)


def _ones(bits: int) -> int:
    """How many of the lowest bits are set without a break."""
    return (~bits & (bits + 1)).bit_length() - 1
