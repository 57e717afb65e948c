"""Herds: a poller staggers the releases of a rate-limited herd, so that they do not come to the deliverers all at once.

A herd is many releases of one client at once. The poller reserves no slots for them. A slot that it reserved a
lookahead ahead would push back every occurrence that is created meanwhile for an earlier instant, and would lie idle if
its occurrence was cancelled. It works out when the limit lets each of them go at the earliest, as if the client had no
other work. One whose turn comes within 50 s of its due instant comes for its turn. One whose turn comes later first
comes within these 50 s, at an instant that is drawn, and waits like all others in the line
(`clockwork.domain.limits.slots`). The sooner it stands there, the fewer newcomers stand before it. And all of a herd
learns of a raised limit within a minute. Nobody gets a place from the poller, which knows of no line. The poller does
not stagger occurrences with a relevancy window: put off, they would find slots taken that they could have had.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from clockwork.domain.limits.slots import LEAST_BACK_MS
from clockwork.domain.releases import Deliver, Release
from clockwork.domain.waits import Line

#: More releases of one client than this are a herd. A deliverer takes this many at once, and for so few it is not worth
#: a poller's while to read their client.
LEAST_HERD = 10


#: All of a herd comes to the deliverers for the first time within this time (ms) of its due instant.
COMES_WITHIN_MS = 50_000


class Herds:
    """The herds of one poller: from when on the limit of each rate-limited client lets its next occurrence go.

    `max_rate_of`: the rate limit of a client (per second), or None. `fraction` draws a number from 0 to 1.
    """

    def __init__(self, max_rate_of: Callable[[str], float | None], fraction: Callable[[], float]) -> None:
        self._max_rate_of, self._fraction = max_rate_of, fraction
        self._next_at: dict[str, float] = {}

    def staggered(self, releases: Sequence[Release], now: int) -> list[Release]:
        """The releases. Those in a herd of a rate-limited client get a later `run_at` than they had, if need be."""
        herds = Counter(release.occurrence.client_id for release in releases if isinstance(release, Deliver))
        rates = {
            client_id: self._max_rate_of(client_id)
            for client_id, count in herds.items()
            if count > LEAST_HERD or client_id in self._next_at
        }
        return [self._later(release, rates.get(release.occurrence.client_id), now) for release in releases]

    def _later(self, release: Release, max_rate: float | None, now: int) -> Release:
        # A watch that is put off finds the end of its claim too late.
        if max_rate is None or not isinstance(release, Deliver):
            return release
        if release.occurrence.relevancy_window_seconds is not None:
            return release
        client_id = release.occurrence.client_id
        turn_at = max(float(release.run_at), self._next_at.get(client_id, 0.0))
        self._next_at[client_id] = turn_at + 1000 / max_rate
        at = int(turn_at)
        if at == release.run_at:
            return release
        if at <= release.run_at + COMES_WITHIN_MS:
            return release.put_off("cap", now, at)
        first_at = release.run_at + LEAST_BACK_MS + int((COMES_WITHIN_MS - LEAST_BACK_MS) * self._fraction())
        return release.put_off("cap", now, first_at, line=Line(None, release.run_at))
