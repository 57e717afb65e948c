"""What one Lambda environment remembers between its invocations. Losing it costs nothing but a little regulation."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from clockwork.domain.circuits import Ratio


@dataclass
class Environment:
    """Ratios by (client, host), and by client until when (ms) its parking is noted and its targets count as slow."""

    #: Which environment this is, among all that ever lease permits.
    name: str = ""
    ratios: dict[tuple[str, str], Ratio] = field(default_factory=lambda: defaultdict(Ratio))
    parking_noted_until: dict[str, int] = field(default_factory=dict)
    slow_until: dict[str, int] = field(default_factory=dict)
    #: How many ordered shards the stack was made with, once it is known.
    ordered_shards: int | None = None
