"""The budget of one call that lists: the time and the read units after which its page ends.

How it fails. A store that is slow, for minutes or for one client alone, makes pages short. Each still brings its list
on: all that one read has brought is looked at, however long it took. A filter that nothing passes gets empty pages with
a token. A call whose answer is lost is repeated with its token, and reads the same again.
"""

from __future__ import annotations

from clockwork.domain.requests.reading import PAGE_MS, PAGE_UNITS
from clockwork.flows.world import World


class Budget:
    """How far one call reads on for its page: the same for every list, whatever its filter lets pass.

    A page ends before a read that would take it past its time, if that read lasts as long as the one before it; and
    once it has cost PAGE_UNITS. A call asks only behind a read, so that the slowest store yields a page for each call.
    A clock that goes back gives a page more time, and its units still end it.
    """

    def __init__(self, world: World, most_ms: int | None = None) -> None:
        """A page that begins now and reads for so long (ms), PAGE_MS unless given."""
        self._clock, self._meter = world.clock, world.environment.meter
        self._read_at = world.clock.now()
        self._until = self._read_at + (PAGE_MS if most_ms is None else most_ms)
        self._late = self._read_at + world.settings.api_timeout_seconds * 500
        self._units, self._is_spent = 0.0, False

    def note_read(self) -> bool:
        """Note that a read has ended; True if the page may read once more. After a False there is no True."""
        now = self._clock.now()
        took, self._read_at = max(0, now - self._read_at), now
        self._is_spent |= self._meter.price - self._units >= PAGE_UNITS or now + took > self._until
        return not self._is_spent

    def restart_units(self) -> None:
        """Leave out of account the units that were read so far: what follows may cost as much again."""
        self._units = self._meter.price

    @property
    def is_late(self) -> bool:
        """Whether half of a call's time is over: then a page ends amid what it has read, where that is long work."""
        return self._clock.now() >= self._late
