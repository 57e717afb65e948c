"""Exclusions: the dates that a schedule leaves out, and the times at which the clock matches a cron expression."""

from datetime import date
from functools import lru_cache, reduce
from operator import or_
from typing import NamedTuple

from msgspec import Struct

from clockwork.domain.cron.compiled import CompiledCron
from clockwork.domain.cron.days import matching_days, month_length
from clockwork.domain.cron.zones import DAY_SECONDS, offset_at

_EPOCH_ORDINAL = date(1970, 1, 1).toordinal()
_EPOCH_WEEKDAY = 4
#: Every second of a day, as bits.
ALL_DAY = (1 << DAY_SECONDS) - 1
#: The size of the caches of exclusions and expressions with their masks. The size changes no answer.
EXCLUSIONS_KEPT, EXPRESSIONS_KEPT = 32, 256


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


class _Month(NamedTuple):
    """The exclusions of one month: each group of entries as (its days, its seconds of a day), and masks by day."""

    of: tuple[int, int]
    matching: list[tuple[int, int]]
    masks: dict[int, int]


class ExcludedDays:
    """The excluded seconds of local days: one mask a day, of all entries together. Several threads may share it.

    Entries with the same times of day are one group, whose days are worked out month by month; the latest month is
    kept.
    """

    def __init__(self, exclusion: Exclusion) -> None:
        self._dates = frozenset(exclusion.days)
        self._groups: dict[int, list[CompiledCron]] = {}
        for cron in exclusion.crons:
            self._groups.setdefault(seconds_of(cron), []).append(cron)
        self._latest: _Month | None = None

    def seconds(self, day: int) -> int:
        """The excluded seconds of a local day (days since 1970), as one bit for each second on the clock."""
        if day in self._dates:
            return ALL_DAY
        today = date.fromordinal(day + _EPOCH_ORDINAL)
        month = self._month_of(today)
        if today.day not in month.masks:
            bits = (seconds for days, seconds in month.matching if days >> today.day & 1)
            month.masks[today.day] = reduce(or_, bits, 0)
        return month.masks[today.day]

    def until(self, zone: str, at: int) -> int | None:
        """None if the instant (UTC ms) is not excluded; otherwise a later one up to which every instant is excluded.

        Raises `UnknownZone`.
        """
        run = offset_at(zone, at // 1000)
        day, time = divmod(at // 1000 + run.offset, DAY_SECONDS)
        following = _ones(self.seconds(day) >> time)
        return min(at // 1000 + following, run.ends) * 1000 if following else None

    def _month_of(self, today: date) -> _Month:
        month = self._latest
        if month is None or month.of != (today.year, today.month):
            month = self._latest = _Month((today.year, today.month), self._matching(today), {})
        return month

    def _matching(self, today: date) -> list[tuple[int, int]]:
        first_weekday, length = today.replace(day=1).isoweekday() % 7, month_length(today.year, today.month)
        matching = []
        for seconds, crons in self._groups.items():
            days = (matching_days(cron, first_weekday, length) for cron in crons if cron.months >> today.month & 1)
            matching.append((reduce(or_, days, 0), seconds))
        return matching


@lru_cache(EXCLUSIONS_KEPT)
def excluded_days(exclusion: Exclusion) -> ExcludedDays:
    """The days of an exclusion, kept from one fire to the next: at most 340 KB of masks each."""
    return ExcludedDays(exclusion)


def excluded_until(exclusion: Exclusion, zone: str, at: int) -> int | None:
    """As `ExcludedDays.until`; an empty exclusion needs no zone."""
    return None if exclusion.is_empty else excluded_days(exclusion).until(zone, at)


@lru_cache(EXPRESSIONS_KEPT)
def seconds_of(cron: CompiledCron) -> int:
    """The seconds of a day that an expression's hour, minute and second match, as bits; at most 11 KB."""
    hour = sum(cron.seconds << 60 * minute for minute in range(60) if cron.minutes >> minute & 1)
    return sum(hour << 3600 * number for number in range(24) if cron.hours >> number & 1)


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
