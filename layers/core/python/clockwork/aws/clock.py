"""The wall clock of this machine, and random numbers from its operating system."""

from __future__ import annotations

import secrets
import time
from random import SystemRandom

_NANOSECONDS_PER_MS = 1_000_000


class SystemClock:
    """`ports.Clock` on the system's clock."""

    def now(self) -> int:
        return time.time_ns() // _NANOSECONDS_PER_MS

    def hold_until(self, at: int) -> None:
        """Sleep until the wall clock shows `at` (ms).

        A sleep follows the monotonic clock, and the wall clock may be set back meanwhile: hence the loop.
        """
        while (left := at * _NANOSECONDS_PER_MS - time.time_ns()) > 0:
            time.sleep(left / 1e9)


_random = SystemRandom()


class OsRandom:
    """`ports.Random` from the operating system's source of secrets."""

    def token(self) -> str:
        return secrets.token_urlsafe(16)

    def below(self, count: int) -> int:
        return _random.randrange(count)

    def fraction(self) -> float:
        return _random.random()
