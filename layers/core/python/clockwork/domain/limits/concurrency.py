"""Concurrency limits (semaphores): how many deliveries of one client may be under way at once.

Each invocation leases a block of up to 10 permits, so the limit costs writes per batch and not per delivery.
"""

from __future__ import annotations

import msgspec

from clockwork.domain.clients import Client

#: Permits in one block: one environment can use this many at once, since it takes ten messages at a time.
BLOCK = 10
#: The share of the deliverer's concurrency that a client without a limit of its own may take.
DEFAULT_SHARE = 0.2
#: A client without a limit of its own needs permits in an environment only after an attempt there took this long (ms).
#: Only slow targets keep environments from other clients, and to send a message back to the queue costs as much as to
#: deliver it to a fast target.
SLOW_MS = 1_000
#: For so long after such an attempt the client needs permits there (ms).
SLOW_FOR_MS = 60_000
#: An occurrence that finds no permit comes back after this wait (ms), drawn between one and two times as long. Each
#: further wait grows by the factor, up to the bound: on average it is half as long as the waits before it together.
NO_PERMIT_MS = 1_000
NO_PERMIT_GROWTH = 1.5
LONGEST_NO_PERMIT_MS = 60_000


class Blocks(msgspec.Struct, frozen=True):
    """A concurrency limit as blocks of permits: how many blocks there are, and how many permits each has."""

    count: int
    size: int


def blocks_of(cap: int) -> Blocks:
    """The blocks of a concurrency limit. Together they never hold more permits than `cap`."""
    size = min(BLOCK, cap)
    return Blocks(cap // size, size)


def wait_ms(waits: int, fraction: float) -> int:
    """How long (ms) an occurrence that finds no permit waits until it tries again.

    `waits` counts how often it found none before. `fraction` is drawn from 0 to 1.
    """
    most_growths = 20  # gives far more than the longest wait; a float cannot hold every power
    base_ms = NO_PERMIT_MS * NO_PERMIT_GROWTH ** min(waits, most_growths)
    return int(min(base_ms, LONGEST_NO_PERMIT_MS) * (1 + fraction))


def cap_of(client: Client | None, deliverer_concurrency: int) -> int:
    """How many deliveries of a client may be under way at once. `deliverer_concurrency` counts environments."""
    if client is not None and client.max_concurrency is not None:
        return client.max_concurrency
    return max(BLOCK, int(deliverer_concurrency * BLOCK * DEFAULT_SHARE))
