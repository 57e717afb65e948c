"""Presence: which workers a pool has heard of lately, and which attempts they had in hand then."""

from __future__ import annotations

import msgspec

#: So many attempts are noted of one worker.
MOST_NOTED = 100
#: What is known of a worker is written at most so often by one environment (ms), ...
NOTED_EVERY_MS = 60_000
#: ... so often if nothing changes, and kept for so long.
RENEWED_EVERY_MS = 6 * 3_600_000
KEPT_MS = 24 * 3_600_000


class Present(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A worker of a pool, under the name that it gives itself. Instants are in ms.

    `seen_at`: when it was noted last. `running`: the executionIds of what it had in hand then, or has ended since.
    `started_late_ms`: how long the tickets of its last claim had waited since they were to run, the longest of them.
    """

    pool: str
    worker_id: str
    seen_at: int
    running: tuple[str, ...] = ()
    started_late_ms: int | None = None

    @property
    def expires_at(self) -> int:
        """When TTL may delete it (ms)."""
        return self.seen_at + KEPT_MS


def is_news(noted: Present | None, seen: Present) -> bool:
    """Whether what was seen is to be written in place of what this environment knows to be noted."""
    if noted is None:
        return True
    if seen.seen_at < noted.seen_at + NOTED_EVERY_MS:
        return False
    is_changed = set(seen.running) != set(noted.running)
    return is_changed or seen.seen_at >= noted.seen_at + RENEWED_EVERY_MS
