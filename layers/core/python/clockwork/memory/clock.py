"""A clock that moves only by a call, and random numbers from a seed."""

from __future__ import annotations

import base64
import random


class MemoryClock:
    """`ports.Clock` whose time a test sets.

    `at` is the world's time (ms); `skew_ms` is how far this machine's clock is ahead of it.
    """

    def __init__(self, at: int = 1_700_000_000_000, skew_ms: int = 0) -> None:
        self.at = at
        self.skew_ms = skew_ms

    def now(self) -> int:
        return self.at + self.skew_ms

    def hold_until(self, at: int) -> None:
        self.at = max(self.at, at - self.skew_ms)

    def advance(self, ms: int) -> None:
        """Let `ms` milliseconds pass."""
        self.at += ms


class SeededRandom:
    """`ports.Random` that repeats itself: the same seed draws the same numbers."""

    def __init__(self, seed: int = 0) -> None:
        self._random = random.Random(seed)  # noqa: S311 - it is meant to repeat itself

    def token(self) -> str:
        return base64.urlsafe_b64encode(self._random.randbytes(16)).rstrip(b"=").decode()

    def below(self, count: int) -> int:
        return self._random.randrange(count)

    def fraction(self) -> float:
        return self._random.random()
