"""What one Lambda environment remembers between its invocations. Losing it costs nothing but a little regulation."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from clockwork.domain.circuits import Ratio
from clockwork.domain.permits import WINDOW_MS


@dataclass
class Block:
    """A block of permits that this environment holds until `until` (ms); `number` is None if it got none."""

    number: int | None
    until: int


@dataclass
class Environment:
    """Ratios by (client, host), blocks of permits by client, and how much was delivered for each client lately."""

    #: Which environment this is, among all that ever lease permits.
    name: str = ""
    ratios: dict[tuple[str, str], Ratio] = field(default_factory=lambda: defaultdict(Ratio))
    blocks: dict[str, Block] = field(default_factory=dict)
    parked: dict[str, int] = field(default_factory=dict)
    _started: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    _window: int = 0

    def note_started(self, client_id: str, count: int, now: int) -> int:
        """Count deliveries of a client; how many there were in this window of time."""
        if now // WINDOW_MS != self._window:
            self._window = now // WINDOW_MS
            self._started.clear()
        self._started[client_id] += count
        return self._started[client_id]
