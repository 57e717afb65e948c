"""The oracle of cron: it finds fires the slow way, by checking every real minute (or second), one after the other.

It shares no code with the engine. A matcher of a few lines reads the expressions and trusts its input. Clock times
come from zoneinfo. The daylight saving rule is the loop of Debian's cron.c, which has a virtual time. That time follows
the clock, catches up after a jump of up to three hours and waits when the clock goes back.
"""

import calendar
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from typing import NamedTuple
from zoneinfo import ZoneInfo

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
NAMES = {name: str(number) for number, name in enumerate(("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"))}
MONTHS = {name.upper(): str(number) for number, name in enumerate(calendar.month_abbr) if number}
ALIASES = {"@hourly": "0 * * * *", "@daily": "0 0 * * *", "@weekly": "0 0 * * 0", "@monthly": "0 0 1 * *"}
THREE_HOURS = 3 * 3600

Ticks = list[tuple[int, int]]


def local_ticks(zone: str, first: int, last: int, resolution: int) -> Ticks:
    """(UTC second, seconds on the local clock) for each tick from `first` to before `last`."""
    info = ZoneInfo(zone)
    return [
        (at, int((datetime.fromtimestamp(at, info).replace(tzinfo=UTC) - EPOCH).total_seconds()))
        for at in range(first, last, resolution)
    ]


class Matcher:
    """Tells whether a time on the local clock matches the expression. It knows nothing of daylight saving."""

    def __init__(self, expression: str, day_match: str = "cron") -> None:
        words = ALIASES.get(expression, expression).upper().replace("?", "*").split()
        self.six = len(words) == 6
        second, minute, hour, self.day, self.month, self.weekday = words if self.six else ["0", *words]
        self.wildcard = minute[0] == "*" or hour[0] == "*"
        self.times = {
            3600 * h + 60 * m + s
            for h in numbers(hour, 0, 23)
            for m in numbers(minute, 0, 59)
            for s in numbers(second, 0, 59)
        }
        starred = self.day[0] == "*" or self.weekday[0] == "*"
        unlimited = self.day == "*" or self.weekday == "*"
        self.both_days = {"cron": starred, "and": True, "or": unlimited}[day_match]
        self.matches_day = lru_cache(None)(self._matches_day)

    def __call__(self, local: int) -> bool:
        return local % 86400 in self.times and self.matches_day(local // 86400)

    def _matches_day(self, number: int) -> bool:
        today = date(1970, 1, 1) + timedelta(days=number)
        if today.month not in numbers(self.month, 1, 12, MONTHS):
            return False
        hits = (
            any(day_hits(i, today) for i in self.day.split(",")),
            any(weekday_hits(i, today) for i in self.weekday.split(",")),
        )
        return all(hits) if self.both_days else any(hits)


def numbers(field: str, low: int, high: int, names: dict[str, str] | None = None) -> set[int]:
    found: set[int] = set()
    for item in field.split(","):
        span, _, step = item.partition("/")
        ends = [(names or {}).get(end, end) for end in span.split("-")]
        start = low if span == "*" else int(ends[0])
        stop = high if span == "*" or (step and len(ends) == 1) else int(ends[-1])
        found |= {value for value in range(start, stop + 1) if (value - start) % int(step or 1) == 0}
    return found


def day_hits(item: str, today: date) -> bool:
    dates = [date(today.year, today.month, d + 1) for d in range(calendar.monthrange(today.year, today.month)[1])]
    working = [d for d in dates if d.weekday() < 5]
    if item == "L":
        return today == dates[-1]
    if item == "LW":
        return today == working[-1]
    if item.endswith("W"):
        wanted = int(item[:-1])
        return wanted <= len(dates) and today == min(working, key=lambda d: (abs(d.day - wanted), d.day))
    return today.day in numbers(item, 1, 31)


def weekday_hits(item: str, today: date) -> bool:
    same = [d for d in range(1, 32) if d % 7 == today.day % 7 and d <= calendar.monthrange(today.year, today.month)[1]]
    name, _, week = item.partition("#")
    if week:
        return today.day in same[int(week) - 1 : int(week)] and weekday_hits(name, today)
    if "L" in item:
        return today.day == same[-1] and weekday_hits(item.strip("L"), today)
    return today.isoweekday() % 7 in {n % 7 for n in numbers(item, 0, 7, NAMES)}


def debian_fires(matches: Matcher, ticks: Ticks) -> list[int]:
    """The fires (UTC seconds) by Debian's loop. `ticks` must begin after three hours without a shift of the clock."""
    step = ticks[1][0] - ticks[0][0]
    virtual = ticks[0][1] - step
    fires = []
    for at, clock in ticks:
        jump = clock - virtual - step
        if jump == 0 or abs(jump) > THREE_HOURS:
            fired = matches(clock)
            virtual = clock
        elif jump < 0:
            fired = matches.wildcard and matches(clock)
        else:
            missed = range(clock, clock + 1) if matches.wildcard else range(virtual + step, clock + step, step)
            fired = any(map(matches, missed))
            virtual = clock
        if fired:
            fires.append(at)
    return fires


class Moment(NamedTuple):
    """A tick, and the facts about its clock time that only the whole window tells."""

    at: int
    clock: int
    #: The clock times that the clock jumped over just before this tick, and so never showed.
    skipped: range
    first: bool
    last: bool


def moments(ticks: Ticks) -> list[Moment]:
    step = ticks[1][0] - ticks[0][0]
    first = {clock: at for at, clock in reversed(ticks)}
    last = {clock: at for at, clock in ticks}
    clocks = [ticks[0][1] - step] + [clock for _, clock in ticks]
    return [
        Moment(
            at,
            clock,
            range(before + step, clock, step) if clock - before - step <= THREE_HOURS else range(0),
            first[clock] == at,
            last[clock] == at,
        )
        for before, (at, clock) in zip(clocks, ticks, strict=False)
    ]


def optional_fires(matches: Matcher, window: list[Moment], gap: str, overlap: str) -> list[int]:
    """The fires under the options. A clock time that is shown twice is an overlap, one that is never shown is a gap."""
    if matches.wildcard:
        return [moment.at for moment in window if matches(moment.clock)]
    return [
        at
        for at, clock, skipped, first, last in window
        if (matches(clock) and (overlap == "both" or (first if overlap == "first" else last)))
        or (skipped and gap == "run_at_gap_end" and any(map(matches, skipped)))
    ]


def changes_of_offset(zone: str, first_year: int, last_year: int) -> list[int]:
    """UTC seconds at which the zone's offset changes: it compares every sixth hour, and bisects."""
    info = ZoneInfo(zone)

    def offset(at: int) -> timedelta | None:
        return datetime.fromtimestamp(at, info).utcoffset()

    changes = []
    start, end = (int(datetime(year, 1, 1, tzinfo=UTC).timestamp()) for year in (first_year, last_year + 1))
    for before in range(start, end, 21600):
        low, high, old = before, before + 21600, offset(before)
        if offset(high) == old:
            continue
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if offset(middle) == old else (low, middle)
        changes.append(high)
    return changes
