"""Rate caps where a herd is released: it is spread over the time that its cap will take anyway.

Nothing is reserved here: a slot that a poller reserved a lookahead ahead would push back whatever is created for an
earlier instant meanwhile. The deliverers reserve slots when occurrences come due. What has a relevancy window is not
spread: put off, it would find slots taken that it could have had.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence

import msgspec

from clockwork.domain.lifecycle.expiry import relevant_until
from clockwork.domain.releases import Release

#: As many as a deliverer takes at once; fewer are not worth a look at their client.
LEAST_HERD = 10


class Spreading:
    """What one poller has released of each capped client, so that it releases no faster than the cap allows."""

    def __init__(self, max_rate_of: Callable[[str], float | None]) -> None:
        self._max_rate_of = max_rate_of
        self._next_at: dict[str, float] = {}

    def spread(self, releases: Sequence[Release]) -> list[Release]:
        """The releases, those of capped clients' herds at later instants than they are due if need be."""
        herds = Counter(release.occurrence.client_id for release in releases)
        rates = {
            client_id: self._max_rate_of(client_id)
            for client_id, count in herds.items()
            if count > LEAST_HERD or client_id in self._next_at
        }
        return [self._later(release, rates.get(release.occurrence.client_id)) for release in releases]

    def _later(self, release: Release, max_rate: float | None) -> Release:
        if max_rate is None or release.occurrence.relevancy_window_seconds is not None:
            return release
        client_id = release.occurrence.client_id
        run_at = max(float(release.run_at), self._next_at.get(client_id, 0.0))
        self._next_at[client_id] = run_at + 1000 / max_rate
        return msgspec.structs.replace(release, run_at=int(run_at))


def urgency(release: Release) -> tuple[float, int]:
    """The order in which releases take slots: by when they are of no use any more, then by when they are to run."""
    until = relevant_until(release.occurrence)
    return math.inf if until is None else until, release.run_at


def slots_until(first_us: int, count: int, interval_ms: float, latest: int | None) -> int:
    """How many of `count` slots from the first one (µs) on lie no later than `latest` (ms); all, if that is None."""
    if latest is None:
        return count
    room_us = latest * 1000 - first_us
    return 0 if room_us < 0 else min(count, int(room_us / (interval_ms * 1000)) + 1)
