"""A pool: who may work for it, which handlers its workers have, and how long a claim holds without a heartbeat."""

from __future__ import annotations

import re
from typing import NamedTuple

import msgspec

#: The form of a pool's name: the names of its queues contain it.
POOL_NAME = re.compile(r"[a-z][a-z0-9-]{0,31}")
#: The form of a handler's name.
HANDLER = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,63}")
#: The priorities that there are, each with a queue of its own, the one that is drawn most often first.
PRIORITIES = ("high", "normal", "low")
#: A claim holds for so many seconds unless the pool says otherwise. The least is twice what a call of the API may take.
LEASE_SECONDS = 90
LEAST_LEASE_SECONDS = 60
MOST_LEASE_SECONDS = 900


class Pool(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """What an admin says of a pool. A pool that the deployment has and nobody has written lets nobody work for it."""

    name: str
    #: How many times it was written, so that no writer undoes what it has not read.
    revision: int = 0
    #: ARNs of the IAM users and roles that may work for it, as those of clients.
    principals: tuple[str, ...] = ()
    #: The handlers that a job may name.
    handlers: tuple[str, ...] = ()
    #: For how long (s) a claim, and each heartbeat, holds.
    lease_seconds: int = LEASE_SECONDS

    def lets_work(self, principal: str) -> bool:
        """Whether this principal may claim jobs of the pool, and report on them."""
        return principal in self.principals


class Tickets(NamedTuple):
    """How many tickets of a queue may be received, and how many may not yet; approximate."""

    ready: int
    delayed: int
