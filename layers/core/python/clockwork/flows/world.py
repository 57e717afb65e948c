"""The world of a flow: the ports and settings of one actor, and the memory of its Lambda environment.

A flow takes a World and touches nothing else outside itself. The memory (`Environment`) lasts from one invocation to
the next. If it is lost, that costs a little regulation and nothing else.
"""

from __future__ import annotations

import msgspec

from clockwork import ports
from clockwork.domain.executions import kept_until
from clockwork.domain.limits.circuits import Ratio
from clockwork.domain.limits.sharing import Company
from clockwork.domain.limits.slots import Reserved
from clockwork.domain.pools.presence import Remembered
from clockwork.domain.pools.shares import Shares
from clockwork.domain.requests.activity import Counters
from clockwork.domain.requests.reading import Meter
from clockwork.domain.storage.retention import Retention
from clockwork.flows.containment import Count, Faults
from clockwork.settings import Settings


class Environment(msgspec.Struct):
    """The memory of one Lambda environment between its invocations.

    `ratios`: the last outcomes by (clientId, host). By clientId: `parking_noted_until`, `slow_until` and
    `slow_gate_until`: until when (ms) the client's parking is noted, its targets count as slow, and its gate does.
    `last_block` and `none_free_until`: the block of permits given back last, and until when (ms) none was free.
    `slots`, by clientId: an instant before which no slot is free, and the end of the line, as they were last told.
    """

    #: The name under which this environment leases permits: no other environment ever has it.
    name: str = ""
    ratios: dict[tuple[str, str], Ratio] = msgspec.field(default_factory=dict)
    parking_noted_until: dict[str, int] = msgspec.field(default_factory=dict)
    slow_until: dict[str, int] = msgspec.field(default_factory=dict)
    slow_gate_until: dict[str, int] = msgspec.field(default_factory=dict)
    last_block: dict[str, int] = msgspec.field(default_factory=dict)
    none_free_until: dict[str, int] = msgspec.field(default_factory=dict)
    slots: dict[str, Reserved] = msgspec.field(default_factory=dict)
    #: The clients that list their runs (`runsIndex`), as they were last told.
    listing: set[str] = msgspec.field(default_factory=set)
    #: The clients met lately, which share the deliverers.
    company: Company = msgspec.field(default_factory=Company)
    #: How many ordered shards the stack was made with; None until the registry has been read.
    ordered_shards: int | None = None
    #: The last notes of this environment about workers.
    present: Remembered = msgspec.field(default_factory=Remembered)
    #: The clients that have work in each pool, as far as this environment knows.
    shares: Shares = msgspec.field(default_factory=Shares)
    #: When (ms) it told last of a handler that a worker lacks, by pool and handler; admins list the handlers.
    lacking_told_at: dict[tuple[str, str], int] = msgspec.field(default_factory=dict)
    #: The defects that were contained and not yet told.
    faults: Faults = msgspec.field(default_factory=Faults)
    #: The calls that DynamoDB throttled, not yet told.
    throttled: Count = msgspec.field(default_factory=Count)
    #: The counts of executions that are not noted yet.
    counters: Counters = msgspec.field(default_factory=Counters)
    #: The reads of the request under way.
    meter: Meter = msgspec.field(default_factory=Meter)


class World(msgspec.Struct, frozen=True, eq=False):
    """The ports, settings and memory of one actor, such as one Lambda environment (`flows/hardening.py: hardened`)."""

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
    visibility: ports.Visibility
    invoker: ports.Invoker
    targets: ports.Targets
    clients: ports.Clients
    pools: ports.Pools
    checkpoints: ports.Checkpoints
    turnstiles: ports.Turnstiles
    runs: ports.Runs
    workers: ports.Workers
    key_rows: ports.KeyRows
    regulation: ports.Regulation
    trail: ports.Trail
    operations: ports.Operations
    activity: ports.Activity
    signing_secrets: ports.SigningSecrets
    pool_queues: ports.PoolQueues
    ticket_keys: ports.TicketKeys
    environment: Environment = msgspec.field(default_factory=Environment)

    def with_(self, **changes: object) -> World:
        """A copy with some fields changed."""
        return msgspec.structs.replace(self, **changes)

    def looking_ahead(self, seconds: int | None) -> World:
        """The same world with a lookahead of `seconds`; unchanged if that is None."""
        return self if seconds is None else self.with_(settings=self.settings.with_(lookahead_seconds=seconds))

    @property
    def retention(self) -> Retention:
        """How long records, rows and messages are kept."""
        kept = self.settings
        # A message to a pool has a check beside it, whose row and message follow it.
        check = kept.ticket_check_seconds + kept.row_retention_seconds if kept.pools else 0
        messages = kept.queue_retention_seconds + check
        seconds = (kept.execution_retention_seconds, kept.row_retention_seconds, messages)
        return Retention(*(1000 * each for each in seconds))

    def execution_expires_at(self, at: int, retention_days: int | None = None) -> int:
        """When (ms) TTL may delete the record of an execution that ended at `at` (ms), as its client asks for it.

        `retention_days`: the client's own, if it has any; None: as long as the setting says. The record is kept for
        longer where something may still name its execution (`Retention.kept`).
        """
        return kept_until(at, retention_days, at + self.settings.execution_retention_seconds * 1000)

    def execution_kept_ms(self, retention_days: int | None) -> int:
        """How long (ms) a record surely exists after its execution ended. A record missing later may have expired."""
        return max(self.execution_expires_at(0, retention_days), self.retention.named_ms)

    def row_expires_at(self, at: int) -> int:
        """When (ms) TTL may delete a timeline row that is due at `at` (ms): an outage must be shorter than that."""
        return at + self.settings.row_retention_seconds * 1000

    def pointer_expires_at(self, at: int) -> int:
        """When (ms) TTL may delete the row of a pointer to `at` (ms).

        A row that is put late lives as long from now on.
        """
        return self.row_expires_at(max(at, self.clock.now()))
