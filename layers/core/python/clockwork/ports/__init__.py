"""The ports: all that the flows know of the world. Each docstring is the contract that every adapter is held to.

Every read is strong (it sees every write that was answered). Every call may raise `Unavailable`, which says nothing of
whether it acted, unless its contract says that it reports failures one by one. Instants are UTC epoch ms.
A call is the unit at which things crash and interleave: whatever an adapter does inside, flows see it as one step.
"""

from __future__ import annotations

from clockwork.domain.releases import Refused
from clockwork.domain.requests.create import KeyRow
from clockwork.domain.timeline import Lease
from clockwork.ports.machine import Clock, Invoker, Random, Targets
from clockwork.ports.queues import (
    Backlog,
    DeadLetter,
    DeadLetters,
    InHand,
    Notices,
    ReleaseQueue,
)
from clockwork.ports.tables import Clients, Executions, Jobs, KeyRows, Regulation, Saved, Shards, Timeline

__all__ = [
    "Backlog",
    "Clients",
    "Clock",
    "DeadLetter",
    "DeadLetters",
    "Executions",
    "InHand",
    "Invoker",
    "Jobs",
    "KeyRow",
    "KeyRows",
    "Lease",
    "Notices",
    "Random",
    "Refused",
    "Regulation",
    "ReleaseQueue",
    "Saved",
    "Shards",
    "Targets",
    "Timeline",
]
