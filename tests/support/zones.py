"""Zones whose rules a test changes: a town that shifts its clock, by one release of the database or by another."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo

from clockwork.domain.cron.zones import Rules

#: The zone that `town` rules. The IANA database has none of this name.
TOWN = "Test/Town"


class Town(tzinfo):
    """A zone with one offset up to an instant, and another one from it on."""

    def __init__(self, minutes: int, then_minutes: int, from_at: int) -> None:
        self._offsets = timedelta(minutes=minutes), timedelta(minutes=then_minutes)
        self._from = datetime.fromtimestamp(from_at / 1000, UTC)

    def fromutc(self, dt: datetime) -> datetime:
        """The local time of an instant, as all conversions from UTC ask for it."""
        is_later = dt.replace(tzinfo=UTC) >= self._from
        return Told(self._offsets[is_later]).of(dt)

    def utcoffset(self, dt: datetime | None) -> timedelta:
        """The first offset: only `fromutc` tells instants apart."""
        return self._offsets[0]

    def dst(self, dt: datetime | None) -> timedelta:
        """None of it is daylight saving."""
        return timedelta(0)

    def tzname(self, dt: datetime | None) -> str:
        """Its name."""
        return TOWN


class Told(tzinfo):
    """The offset of one instant."""

    def __init__(self, offset: timedelta) -> None:
        self._offset = offset

    def of(self, dt: datetime) -> datetime:
        """The local time of an instant in UTC."""
        return (dt + self._offset).replace(tzinfo=self)

    def utcoffset(self, dt: datetime | None) -> timedelta:
        """The offset."""
        return self._offset

    def dst(self, dt: datetime | None) -> timedelta:
        """None of it is daylight saving."""
        return timedelta(0)

    def tzname(self, dt: datetime | None) -> str:
        """Its name."""
        return TOWN


def town(minutes: int, then_minutes: int | None = None, from_at: int = 0) -> Rules:
    """Rules by which the town is `minutes` ahead of UTC, and `then_minutes` from an instant on (ms)."""
    here = Town(minutes, minutes if then_minutes is None else then_minutes, from_at)
    return Rules(lambda name: here if name == TOWN else ZoneInfo(name))
