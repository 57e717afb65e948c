"""Aligned sends: the instant at which a poller sends each message, so that it arrives shortly before its due instant.

SQS delays whole seconds. A message that is sent at any instant arrives up to a second early, and its deliverer is paid
while it waits. A poller works minutes ahead, so it can choose the instant. Sent a whole number of seconds before (due -
margin), a message arrives exactly the margin before it is due. The second is cut into a grid, so that messages arrive
in batches: each is sent at the last grid instant before its own. Where many messages share an instant, batches are full
anyway, and their grid is five times as fine. Where few messages come, each would be alone in its batch anyway. Their
grid is as fine, since a coarse grid would only make their deliverers wait.

A delay counts from the nominal grid instant and never from the clock, which shows some milliseconds more. A message
whose own instant lies within these would lose a whole second.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import msgspec

SECOND_MS = 1_000
#: Waiting pays from so many messages of an invocation on: a poller that waits for a second for one message is paid
#: for longer than its deliverer would be.
LEAST_WAITING = 3
#: A fine grid has so many instants for each of the grid, and is for so many messages that come within one of these:
#: a full batch of ten for each.
FINER = 5
DENSE = 10 * FINER
#: This many messages leave in two calls, within a third of the margin, so that none of them arrives late.
SOON_AWAY = 200


class Aligned(msgspec.Struct, frozen=True):
    """The instant from which the delays of a send count (ms), and how long before it is due a message comes (ms)."""

    at: int
    margin_ms: int

    def counted_from(self, at: int) -> int:
        """The instant in place of now for a delay that counts from `at`: the message arrives the margin earlier."""
        return at + self.margin_ms


class Grid(msgspec.Struct, frozen=True):
    """The margin of messages, and the grid of instants at which they are sent (ms). A grid of 0: all are sent at once.

    `grid_ms` divides a second, and five divides it. A sweep of fewer messages than `few_below` has few of them.
    """

    margin_ms: int
    grid_ms: int
    few_below: int = 0

    @property
    def is_on(self) -> bool:
        """Whether messages wait for an instant of the grid."""
        return self.grid_ms > 0

    def is_near(self, run_at: int, now: int) -> bool:
        """Whether a message that is to run at an instant has no whole second left before its margin."""
        return run_at - self.margin_ms - now < SECOND_MS

    def comes_at(self, run_at: int) -> int:
        """The instant of the grid (ms) at which a message comes that is to run at an instant."""
        return (run_at - self.margin_ms) // self.grid_ms * self.grid_ms

    def sent_at(self, run_at: int, now: int) -> int:
        """The next instant (ms) that lies a whole number of seconds before the one at which the message comes."""
        return now + (self.comes_at(run_at) - now) % SECOND_MS

    def finer(self) -> Grid:
        """The grid for messages of which many come at one instant."""
        return Grid(self.margin_ms, max(1, self.grid_ms // FINER))

    def counts_from(self, instant: int, now: int) -> int:
        """From when the delays of a send at `now` count: from its grid instant, or whole seconds after it.

        Delays are whole seconds, so each of these instants serves a message as the first one did. From the clock, if
        the last of them is too long ago: the message would come late by as much, and its margin would be used up.
        """
        over = (now - instant) % SECOND_MS
        return now - over if over <= self.margin_ms // 3 else now


def grid_of_shard(margin_ms: int, grid_ms: int, shards: int, tick_seconds: int) -> Grid:
    """The grid of one of so many shards, each of which has a sweep in each tick.

    Messages are few if all shards, having as many each, have fewer than there are instants of the grid in a tick.
    """
    instants = tick_seconds * SECOND_MS // grid_ms if grid_ms else 0
    return Grid(margin_ms, grid_ms, instants // shards)


class Bin(msgspec.Struct, frozen=True):
    """Messages by their index that are sent at one grid instant (ms), in this order."""

    at: int
    indexes: tuple[int, ...]


class Sweep(msgspec.Struct, frozen=True):
    """The messages to send at once, by index, and the messages that wait for an instant of the next second, in order.

    `reason`: why nothing waits, or `aligned`.
    """

    at_once: tuple[int, ...]
    bins: tuple[Bin, ...]
    reason: str

    @property
    def waiting(self) -> int:
        """How many messages wait."""
        return sum(len(one.indexes) for one in self.bins)


def plan_sweep(run_ats: Sequence[int], now: int, grid: Grid) -> Sweep:
    """When to send messages that are to run at these instants (ms): all within one second from now."""
    if not grid.is_on:
        return all_at_once(len(run_ats), "off")
    bins: dict[int, list[int]] = {}
    near: list[int] = []
    fine, coming = grid.finer(), Counter(map(grid.comes_at, run_ats))
    alone = 1 if len(run_ats) < grid.few_below else 0
    for index, run_at in enumerate(run_ats):
        if grid.is_near(run_at, now):
            near.append(index)
        else:
            beside = coming[grid.comes_at(run_at)]
            its = fine if beside >= DENSE or beside == alone else grid
            bins.setdefault(its.sent_at(run_at, now), []).append(index)
    for at, indexes in bins.items():
        _order(indexes, run_ats, at + grid.margin_ms)
    return Sweep(tuple(near), tuple(Bin(at, tuple(bins[at])) for at in sorted(bins)), "aligned" if bins else "near")


def _order(indexes: list[int], run_ats: Sequence[int], after: int) -> None:
    """Bring the messages of one instant into the order of their sends."""
    if len(indexes) <= SOON_AWAY:
        # What comes at one instant leaves in one call, as in the other shards: so it shares batches.
        indexes.sort(key=lambda index: run_ats[index])
    else:
        # What is sent last leaves a little late. That costs least what comes last.
        indexes.sort(key=lambda index: (run_ats[index] - after) % SECOND_MS)


def all_at_once(count: int, reason: str) -> Sweep:
    """The sweep of so many messages that waits for nothing, and why."""
    return Sweep(tuple(range(count)), (), reason)
