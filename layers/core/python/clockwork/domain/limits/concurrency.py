"""Concurrency caps: permits are leased in blocks, for one invocation each, so a cap costs writes per batch."""

from __future__ import annotations

import msgspec

from clockwork.domain.clients import Client

#: Permits of one block: what one environment can use at once, since it takes ten messages at a time.
BLOCK = 10
#: The share of the deliverer's concurrency that a client without a cap of its own may take.
DEFAULT_SHARE = 0.2
#: A client without a cap of its own needs permits where an attempt of its took so long lately (ms): only slow targets
#: keep environments from others. To send a message back costs as much as to deliver it to a fast one.
SLOW_MS = 1_000
SLOW_FOR_MS = 60_000
#: What finds no permit comes back after so long (ms, up to twice of it), and each further time so much later, up to a
#: bound: on average half as long as it has waited already.
NO_PERMIT_MS = 1_000
NO_PERMIT_GROWTH = 1.5
LONGEST_NO_PERMIT_MS = 60_000


class Blocks(msgspec.Struct, frozen=True):
    """A cap as blocks: how many there are, and how many permits each has."""

    count: int
    size: int


def blocks_of(cap: int) -> Blocks:
    """Blocks that together never exceed the cap."""
    size = min(BLOCK, cap)
    return Blocks(cap // size, size)


def wait_ms(waits: int, fraction: float) -> int:
    """How long what has found no permit `waits` times before waits until it looks again. `fraction`: 0 to 1, drawn."""
    most_growths = 20  # far beyond the longest; a float cannot hold any power
    base_ms = NO_PERMIT_MS * NO_PERMIT_GROWTH ** min(waits, most_growths)
    return int(min(base_ms, LONGEST_NO_PERMIT_MS) * (1 + fraction))


def cap_of(client: Client | None, deliverer_concurrency: int) -> int:
    """How many deliveries of a client may be under way at once. `deliverer_concurrency` counts environments."""
    if client is not None and client.max_concurrency is not None:
        return client.max_concurrency
    return max(BLOCK, int(deliverer_concurrency * BLOCK * DEFAULT_SHARE))
