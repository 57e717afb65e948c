"""What one Lambda environment remembers between its invocations. Losing it costs nothing but a little regulation.

All that one actor may touch: its ports and the settings. Flows take a World and nothing else of the outside.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field, replace

from clockwork import ports
from clockwork.domain.executions import kept_until
from clockwork.domain.limits.circuits import Ratio
from clockwork.settings import Settings


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


@dataclass(frozen=True)
class World:
    """The ports of one actor, such as one Lambda environment."""

    settings: Settings
    clock: ports.Clock
    random: ports.Random
    timeline: ports.Timeline
    shards: ports.Shards
    jobs: ports.Jobs
    executions: ports.Executions
    releases: ports.ReleaseQueue
    backlog: ports.Backlog
    dead_letters: ports.DeadLetters
    notices: ports.Notices
    in_hand: ports.InHand
    invoker: ports.Invoker
    targets: ports.Targets
    clients: ports.Clients
    key_rows: ports.KeyRows
    regulation: ports.Regulation
    environment: Environment = field(default_factory=Environment)

    def looking_ahead(self, seconds: int | None) -> World:
        """The same with another lookahead, if one is given."""
        return self if seconds is None else replace(self, settings=self.settings.with_(lookahead_seconds=seconds))

    def execution_expires_at(self, at: int, retention_days: int | None = None) -> int:
        """When the record of an execution that ended at `at` (ms) may go; `retention_days` if its client has any."""
        return kept_until(at, retention_days, at + self.settings.execution_retention_seconds * 1000)

    def execution_kept_ms(self, retention_days: int | None) -> int:
        """For how long a record is sure to be there from its execution's end on: later it may have been and be gone."""
        return self.execution_expires_at(0, retention_days)

    def row_expires_at(self, at: int) -> int:
        """When a timeline row due at `at` (ms) may go: an outage must be shorter."""
        return at + self.settings.row_retention_seconds * 1000
