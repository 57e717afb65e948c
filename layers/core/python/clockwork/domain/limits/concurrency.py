"""Concurrency limits (semaphores): they bound the deliveries of one client that run at once.

Each invocation leases a block of permits, so a limit costs writes per batch and not per delivery. There are two kinds
of limits. A client's own limit counts deliveries and always holds; attempts of workers count apart, each with a permit
of its own until it ends. A client without a limit shares the deliverers with the others: a block stands for one
deliverer, and the client needs a block only where others have work.
"""

from __future__ import annotations

from collections.abc import Collection
from itertools import islice

import msgspec

from clockwork.domain.clients import Client

#: Permits in one block: one environment can use this many at once, since it takes ten messages at a time.
BLOCK = 10
#: The share of the deliverers that clients without a limit of their own leave to those that do not crowd.
LEFT_FREE = 0.25
#: A client is slow in an environment after an attempt there took this long (ms). Its next batches keep environments
#: from other clients, be they full or not.
SLOW_MS = 1_000
#: For so long after such an attempt the client is slow there (ms).
SLOW_FOR_MS = 60_000
#: An occurrence that finds no permit comes back after this wait (ms), drawn between one and two times as long. Each
#: further wait grows by the factor, up to the bound: on average it is a seventh of all waits before it, and a second
#: and a half. A permit that becomes free at the end of a backlog lies idle for no longer than such a wait.
NO_PERMIT_MS = 1_000
NO_PERMIT_GROWTH = 1.15
LONGEST_NO_PERMIT_MS = 60_000
#: This many growths give far more than the longest wait. A float cannot hold every power.
MOST_GROWTHS = 40
#: The permits of workers, one for each running attempt, have numbers from here on. No block has so high a number.
OF_WORKERS = 1_000_000
#: An environment that found no block free asks for none of the same client for this long (ms).
NONE_FREE_FOR_MS = 100


class Blocks(msgspec.Struct, frozen=True):
    """A limit as blocks: the number of blocks, and the deliveries that each allows at once (None: a whole batch)."""

    count: int
    size: int | None


def blocks_of(cap: int) -> Blocks:
    """The blocks of a client's own limit. Together they never hold more permits than `cap`."""
    size = min(BLOCK, cap)
    return Blocks(cap // size, size)


def share_of(deliverers: int, crowding: int) -> Blocks:
    """The blocks of a client that shares `deliverers` environments: one for each that it may take.

    `crowding` clients, at least one, share alike the blocks that are not left free.
    """
    return Blocks(max(1, int(deliverers * (1 - LEFT_FREE)) // crowding), None)


def free_permits(cap: int, taken: Collection[int]) -> list[int]:
    """The numbers of permits that workers may still take, of a client with `cap` attempts of workers at once.

    A lowered cap has holders of higher numbers: they count, too. Callers that ask at once therefore get the same few.
    """
    free = (number for number in range(OF_WORKERS, OF_WORKERS + cap) if number not in taken)
    return list(islice(free, max(0, cap - sum(number >= OF_WORKERS for number in taken))))


def limit_of(client: Client | None) -> Blocks | None:
    """The blocks of the client's own limit; None if it has none."""
    return None if client is None or client.max_concurrency is None else blocks_of(client.max_concurrency)


def wait_ms(waits: int, fraction: float) -> int:
    """How long (ms) an occurrence that finds no permit waits until it tries again.

    `waits` counts how often it found none before. `fraction` is drawn from 0 to 1.
    """
    base_ms = NO_PERMIT_MS * NO_PERMIT_GROWTH ** min(waits, MOST_GROWTHS)
    return int(min(base_ms, LONGEST_NO_PERMIT_MS) * (1 + fraction))
