"""Rate limits: a poller spreads a herd over the time that its client's rate limit will take anyway.

A herd is many releases of one client at once. The poller reserves no slots for them. A slot that it reserved a
lookahead ahead would push back every occurrence that is created meanwhile for an earlier instant. The deliverers
reserve slots when occurrences come due. The poller does not spread occurrences with a relevancy window: put off, they
would find slots taken that they could have had.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence

from clockwork.domain.lifecycle.expiry import relevant_until
from clockwork.domain.releases import Release

#: More releases of one client than this are a herd. A deliverer takes this many at once, and for so few it is not worth
#: a poller's while to read their client.
LEAST_HERD = 10


class Spreading:
    """When one poller may release the next occurrence of each rate-limited client without exceeding the limit."""

    def __init__(self, max_rate_of: Callable[[str], float | None]) -> None:
        self._max_rate_of = max_rate_of
        self._next_at: dict[str, float] = {}

    def spread(self, releases: Sequence[Release], now: int) -> list[Release]:
        """The releases. Those in a herd of a rate-limited client get a later `run_at` than they had, if need be."""
        herds = Counter(release.occurrence.client_id for release in releases)
        rates = {
            client_id: self._max_rate_of(client_id)
            for client_id, count in herds.items()
            if count > LEAST_HERD or client_id in self._next_at
        }
        return [self._later(release, rates.get(release.occurrence.client_id), now) for release in releases]

    def _later(self, release: Release, max_rate: float | None, now: int) -> Release:
        if max_rate is None or release.occurrence.relevancy_window_seconds is not None:
            return release
        client_id = release.occurrence.client_id
        run_at = max(float(release.run_at), self._next_at.get(client_id, 0.0))
        self._next_at[client_id] = run_at + 1000 / max_rate
        return release if int(run_at) == release.run_at else release.put_off("cap", now, int(run_at))


def urgency(release: Release) -> tuple[float, int]:
    """The sort key by which releases take slots: the end of the relevancy window (none sorts last), then `run_at`."""
    until = relevant_until(release.occurrence)
    return math.inf if until is None else until, release.run_at


def slots_until(first_us: int, count: int, interval_ms: float, latest: int | None) -> int:
    """How many of `count` slots from `first_us` (µs) on lie no later than `latest` (ms); all of them if it is None."""
    if latest is None:
        return count
    room_us = latest * 1000 - first_us
    return 0 if room_us < 0 else min(count, int(room_us / (interval_ms * 1000)) + 1)
