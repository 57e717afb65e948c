"""Time zones as runs of constant offset, found once per zone and stretch of time.

The rules of the zones come from outside: from the standard library's zoneinfo, unless `ruled_by` gives others. zoneinfo
decides which copy of the IANA database it reads. With ``PYTHONTZPATH=""`` it reads only the pinned `tzdata` package.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache
from typing import NamedTuple
from zoneinfo import ZoneInfo

DAY_SECONDS = 86_400
#: Shifts up to this long count as daylight saving, longer ones as a new time (Debian's cron draws the line here).
LONGEST_SHIFT_SECONDS = 3 * 3600
#: The size of the cache of blocks of time. The size changes no answer.
BLOCKS_KEPT = 2_048

# A block is about 388 days. Its margins hold the runs before and after a shift that lies near its edge.
_BLOCK_BITS = 25
_MARGIN_SECONDS = 4 * DAY_SECONDS
# Two changes of one zone's offset are never closer than 167 hours (tzdata 2026f, from 1970 on; a test checks it).
_SAMPLE_SECONDS = 2 * DAY_SECONDS
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MACHINE_DEPENDENT = ("localtime", "posixrules", "posix/", "right/")


class UnknownZone(ValueError):
    """The installed database has no time zone of that IANA name."""

    def __init__(self, zone: str) -> None:
        super().__init__(f"unknown time zone {zone[:64]!r}: use an IANA name such as Europe/Berlin or UTC")


class Offset(NamedTuple):
    """A run of one UTC offset. Instants are UTC seconds; local times are seconds since 1970 on the zone's own clock."""

    starts: int
    ends: int
    offset: int
    #: Local time from which clock time was skipped when this run began; the run's beginning if none was skipped.
    skipped_from: int
    #: Local time until which the clock repeats times that it has already shown; the run's beginning if it repeats none.
    repeats_until: int
    #: Local time from which the next run will show the clock time again; the run's end if it will not.
    repeated_from: int


class Rules:
    """The rules of all zones, as one release of the IANA database has them. `find` raises if it has no such zone."""

    def __init__(self, find: Callable[[str], tzinfo]) -> None:
        self._find = find
        self.block = lru_cache(BLOCKS_KEPT)(self._block)

    def zone(self, name: str) -> tzinfo:
        """The zone with that IANA name. Raises `UnknownZone`."""
        if name.startswith(_MACHINE_DEPENDENT):
            raise UnknownZone(name)
        try:
            return self._find(name)
        except (KeyError, ValueError, OSError) as error:
            raise UnknownZone(name) from error

    def _block(self, zone: str, number: int) -> tuple[tuple[int, ...], tuple[Offset, ...]]:
        """The runs of one block of time with their starts. A pure function of zone and rules, hence cached."""
        first = (number << _BLOCK_BITS) - _MARGIN_SECONDS
        last = (number + 1 << _BLOCK_BITS) + _MARGIN_SECONDS
        runs = tuple(_runs(_changes(self.zone(zone), first, last), last))
        return tuple(run.starts for run in runs), runs


#: The rules of the database that is installed.
INSTALLED = Rules(ZoneInfo)
_rules: ContextVar[Rules] = ContextVar("rules of time zones", default=INSTALLED)


@contextmanager
def ruled_by(rules: Rules) -> Iterator[None]:
    """Let these rules hold for this thread or greenlet. A Lambda has one set of rules from its deployment to the next.

    Tests change them where a deployment would.
    """
    before = _rules.set(rules)
    try:
        yield
    finally:
        _rules.reset(before)


def zone_named(zone: str) -> tzinfo:
    """The zone with that IANA name. Raises `UnknownZone`."""
    return _rules.get().zone(zone)


def offset_at(zone: str, second: int) -> Offset:
    """The run of constant offset that holds the UTC second. Raises `UnknownZone`."""
    starts, runs = _rules.get().block(zone, second >> _BLOCK_BITS)
    return runs[bisect_right(starts, second) - 1]


def _changes(zone: tzinfo, first: int, last: int) -> list[tuple[int, int]]:
    """(UTC second, offset from then on), the first at `first`, then one for each change before `last`."""
    changes = [(first, _offset(zone, first))]
    for sample in range(first + _SAMPLE_SECONDS, last + _SAMPLE_SECONDS, _SAMPLE_SECONDS):
        offset = _offset(zone, min(sample, last))
        if offset != changes[-1][1]:
            changes.append((_change_between(zone, sample - _SAMPLE_SECONDS, min(sample, last)), offset))
    return changes


def _change_between(zone: tzinfo, before: int, after: int) -> int:
    old = _offset(zone, before)
    return before + bisect_left(range(before, after), True, key=lambda second: _offset(zone, second) != old)


def _offset(zone: tzinfo, second: int) -> int:
    offset = (_EPOCH + timedelta(seconds=second)).astimezone(zone).utcoffset()
    return 0 if offset is None else int(offset.total_seconds())


def _runs(changes: list[tuple[int, int]], last: int) -> list[Offset]:
    """The runs, each with the clock times that its first shift skipped or repeats and its last shift will repeat.

    `reached` is the furthest time that the local clock has shown, Debian cron's "virtual time". While the clock is
    behind it, it repeats clock time.
    """
    runs: list[Offset] = []
    reached = changes[0][0] + changes[0][1]
    ends = [start for start, _ in changes[1:]] + [last]
    for index, ((starts, offset), end) in enumerate(zip(changes, ends, strict=True)):
        begins = starts + offset
        skipped_from = reached if 0 < begins - reached <= LONGEST_SHIFT_SECONDS else begins
        repeats_until = reached if 0 < reached - begins <= LONGEST_SHIFT_SECONDS else begins
        closes = end + offset
        repeated_from = closes
        if index + 1 < len(changes):
            again = end + changes[index + 1][1]
            repeated_from = again if 0 < closes - again <= LONGEST_SHIFT_SECONDS else closes
        runs.append(Offset(starts, end, offset, skipped_from, repeats_until, repeated_from))
        reached = max(repeats_until, closes)
    return runs
