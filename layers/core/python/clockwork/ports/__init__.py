"""The ports: the only interfaces through which the flows reach the world. Each docstring is every adapter's contract.

Every read is strongly consistent: it sees every write that was answered. Every call may raise `Unavailable`, unless its
contract says that it reports failures one by one. `Unavailable` does not say whether the call acted. Instants are UTC
epoch ms. A call is the unit at which processes crash and interleave: whatever an adapter does inside a call, the flows
see one step.
"""

from __future__ import annotations

from clockwork.domain.releases import Refused
from clockwork.domain.requests.create import KeyRow
from clockwork.domain.timeline import Lease
from clockwork.ports.machine import Clock, Invoker, Random, SigningSecrets, Targets
from clockwork.ports.pools import Checkpoints, Pools, Workers
from clockwork.ports.queues import (
    Backlog,
    DeadLetter,
    DeadLetters,
    Notices,
    PoolMessage,
    PoolQueues,
    ReleaseQueue,
    TicketKeys,
    Visibility,
)
from clockwork.ports.requests import Activity, KeyRows, Operations, Trail
from clockwork.ports.runs import Runs
from clockwork.ports.tables import (
    Clients,
    Executions,
    Jobs,
    Listed,
    Regulation,
    Saved,
    Shards,
    Timeline,
)
from clockwork.ports.turnstiles import Turnstiles

__all__ = [
    "Activity",
    "Backlog",
    "Checkpoints",
    "Clients",
    "Clock",
    "DeadLetter",
    "DeadLetters",
    "Executions",
    "Invoker",
    "Jobs",
    "KeyRow",
    "KeyRows",
    "Lease",
    "Listed",
    "Notices",
    "Operations",
    "PoolMessage",
    "PoolQueues",
    "Pools",
    "Random",
    "Refused",
    "Regulation",
    "ReleaseQueue",
    "Runs",
    "Saved",
    "Shards",
    "SigningSecrets",
    "Targets",
    "TicketKeys",
    "Timeline",
    "Trail",
    "Turnstiles",
    "Visibility",
    "Workers",
]
