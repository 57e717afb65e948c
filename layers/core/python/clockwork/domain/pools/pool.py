"""A pool: the principals that may work for it, its workers' handlers, and the lease of a claim without a heartbeat."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import NamedTuple

import msgspec

#: The form of a pool's name: the names of its queues contain it.
POOL_NAME = re.compile(r"[a-z][a-z0-9-]{0,31}")
#: The form of a handler's name.
HANDLER = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,63}")
#: The priorities that there are, each with a queue of its own, the one that is drawn most often first.
PRIORITIES = ("high", "normal", "low")
#: Each priority has a second queue, for tickets beyond their clients' shares: its name ends so.
OVERFLOW = "-overflow"
#: The lease (s) of a claim unless the pool has its own. The least is twice the longest call of the API.
LEASE_SECONDS = 90
LEAST_LEASE_SECONDS = 60
MOST_LEASE_SECONDS = 900


class Pool(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """An admin's settings of a pool. A pool of the deployment without settings lets nobody work for it."""

    name: str
    #: The number of writes, so that no writer undoes a change that it has not read.
    revision: int = 0
    #: ARNs of the IAM users and roles that may work for it, in the form of a client's.
    principals: tuple[str, ...] = ()
    #: The handlers that a job may name.
    handlers: tuple[str, ...] = ()
    #: For how long (s) a claim, and each heartbeat, holds.
    lease_seconds: int = LEASE_SECONDS

    def lets_work(self, principal: str) -> bool:
        """Whether this principal may claim jobs of the pool, and report on them."""
        return principal in self.principals


def overflow_of(priority: str) -> str:
    """The name of a priority's overflow queue."""
    return priority + OVERFLOW


def pool_queues(priorities: Collection[str]) -> list[str]:
    """The queues of a pool with these priorities: one for each, and behind them one for the overflow of each."""
    return [*priorities, *map(overflow_of, priorities)]


class Tickets(NamedTuple):
    """How many tickets of a queue may be received, and how many may not yet; approximate."""

    ready: int
    delayed: int


def by_priority(waiting: Mapping[str, Tickets]) -> dict[str, Tickets]:
    """The numbers of both queues of each priority together, given those of each queue by its name."""
    none = Tickets(0, 0)
    pairs = {one: (waiting[one], waiting.get(overflow_of(one), none)) for one in PRIORITIES if one in waiting}
    return {one: Tickets(sum(of.ready for of in pair), sum(of.delayed for of in pair)) for one, pair in pairs.items()}
