"""A clock that only moves when told to, and random numbers from a seed."""

from __future__ import annotations

import base64
import random


class MemoryClock:
    """Time as a test sets it. `skew_ms` is how far this machine's clock is ahead of the world's."""

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
    """Random numbers that repeat: the same seed draws the same ones."""

    def __init__(self, seed: int = 0) -> None:
        self._random = random.Random(seed)  # noqa: S311 - it is meant to repeat itself

    def token(self) -> str:
        return base64.urlsafe_b64encode(self._random.randbytes(16)).rstrip(b"=").decode()

    def below(self, count: int) -> int:
        return self._random.randrange(count)

    def fraction(self) -> float:
        return self._random.random()
