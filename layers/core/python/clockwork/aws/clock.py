"""The wall clock of this machine."""

from __future__ import annotations

import time

_NANOSECONDS_PER_MS = 1_000_000


class SystemClock:
    """`ports.Clock` on the system's clock."""

    def now(self) -> int:
        return time.time_ns() // _NANOSECONDS_PER_MS

    def hold_until(self, at: int) -> None:
        """A sleep runs on the monotonic clock and the wall clock may be set back meanwhile, hence the loop."""
        while (left := at * _NANOSECONDS_PER_MS - time.time_ns()) > 0:
            time.sleep(left / 1e9)
