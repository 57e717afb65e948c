"""Limits of rates that AWS grants: token buckets, and ramps."""

from __future__ import annotations

from dataclasses import dataclass


class TokenBucket:
    """A token bucket: it gets `rate` tokens a second and keeps at most `depth`. It is full at the beginning."""

    def __init__(self, rate: float, depth: float) -> None:
        self.rate = rate
        self.depth = depth
        self._tokens = depth
        self._at = 0.0

    def take(self, wanted: int, now: float) -> int:
        """How many of `wanted` whole tokens are granted at `now` (ms)."""
        granted = min(wanted, self._whole(now))
        self._tokens -= granted
        return granted

    def take_all(self, wanted: int, now: float) -> bool:
        """Whether all of `wanted` tokens are granted at `now` (ms); otherwise none is taken."""
        if wanted > self._whole(now):
            return False
        self._tokens -= wanted
        return True

    def _whole(self, now: float) -> int:
        if now > self._at:
            self._tokens = min(self.depth, self._tokens + (now - self._at) / 1000 * self.rate)
            self._at = now
        return int(self._tokens + 1e-9)


@dataclass(frozen=True)
class Ramp:
    """A bound that grows from `start` by `per_second` up to `most`."""

    start: float
    per_second: float
    most: float

    def after(self, seconds: float) -> int:
        """The bound after so many seconds of growth."""
        return int(min(self.most, self.start + self.per_second * max(0.0, seconds)))
