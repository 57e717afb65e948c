"""Herds: a poller gives each release of a rate-limited herd a place, as its client's rate limit will take it anyway.

A herd is many releases of one client at once. The poller reserves no slots for them. A slot that it reserved a
lookahead ahead would push back every occurrence that is created meanwhile for an earlier instant, and would lie idle if
its occurrence was cancelled. The deliverers reserve slots when occurrences come due. A place says when an occurrence's
turn will come, as is estimated. Within a minute of its due instant it comes for its place: a slot may be reserved that
far ahead, too. If its place lies further away it first comes within that minute, at an instant of its own, and then as
everything does that waits in line (`clockwork.domain.limits.slots`). So no herd comes all at once, and all of it learns
of a raised limit within a minute. The poller does not place occurrences with a relevancy window: put off, they would
find slots taken that they could have had.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from clockwork.domain.limits.slots import HARD_MS, LEAST_BACK_MS
from clockwork.domain.releases import Release
from clockwork.domain.waits import Line

#: More releases of one client than this are a herd. A deliverer takes this many at once, and for so few it is not worth
#: a poller's while to read their client.
LEAST_HERD = 10


class Herds:
    """The places of one poller's herds: when it may place the next occurrence of each rate-limited client.

    `max_rate_of`: the rate limit of a client (per second), or None. `shards_of`: how many shards share it. Their
    pollers do not know of each other's places, so each gives as many a second as its share of the limit. `fraction`
    draws a number from 0 to 1.
    """

    def __init__(
        self,
        max_rate_of: Callable[[str], float | None],
        shards_of: Callable[[str], int],
        fraction: Callable[[], float],
    ) -> None:
        self._max_rate_of, self._shards_of, self._fraction = max_rate_of, shards_of, fraction
        self._next_at: dict[str, float] = {}

    def placed(self, releases: Sequence[Release], now: int) -> list[Release]:
        """The releases. Those in a herd of a rate-limited client get a place, if it lies behind their `run_at`."""
        counts = Counter(_herd_of(release) for release in releases)
        intervals_ms = {
            client_id: self._interval_ms(client_id)
            for client_id, count in counts.items()
            if client_id is not None and (count > LEAST_HERD or client_id in self._next_at)
        }
        return [self._placed(release, intervals_ms.get(_herd_of(release) or ""), now) for release in releases]

    def _interval_ms(self, client_id: str) -> float | None:
        max_rate = self._max_rate_of(client_id)
        return None if max_rate is None else 1000 * self._shards_of(client_id) / max_rate

    def _placed(self, release: Release, interval_ms: float | None, now: int) -> Release:
        if interval_ms is None:
            return release
        client_id = release.occurrence.client_id
        place = max(float(release.run_at), self._next_at.get(client_id, 0.0))
        self._next_at[client_id] = place + interval_ms
        at = int(place)
        if at == release.run_at:
            return release
        if at <= release.run_at + HARD_MS:
            return release.put_off("cap", now, at, line=Line(at, at))
        first_at = release.run_at + LEAST_BACK_MS + int((HARD_MS - LEAST_BACK_MS) * self._fraction())
        return release.put_off("cap", now, first_at, line=Line(at, release.run_at))


def _herd_of(release: Release) -> str | None:
    """The client to whose herd a release may belong; None if it is not to wait."""
    return None if release.occurrence.relevancy_window_seconds is not None else release.occurrence.client_id
