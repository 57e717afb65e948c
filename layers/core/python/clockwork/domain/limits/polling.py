"""Polling: how far ahead pollers release (backpressure), and which shards share a poller.

While the deliverers do not keep up with the due messages, pollers release less far ahead. A message in a release queue
cannot be taken back, comes out in no order, and the queue hands out at most 120,000 at a time. A row that is still in
the timeline keeps its order, can surely be cancelled, and expires without a message.

Several shards in which little happens share one poller's invocation.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from clockwork.domain import keys
from clockwork.domain.timeline import Shard


class Lookahead(msgspec.Struct, frozen=True):
    """How far ahead pollers release now (s), whether backpressure narrowed it, and why."""

    lookahead_seconds: int
    narrowed: bool
    reason: str


def plan_lookahead(widest_seconds: int, narrowest_seconds: int, waiting: int, most: int) -> Lookahead:
    """The lookahead: the widest, or the narrowest while more than `most` messages are `waiting`.

    `waiting` counts the messages that are due and not delivered yet. `narrowest_seconds` has to reach from one poll to
    the next but one, so that a shard that keeps up goes on keeping up.
    """
    if waiting <= most:
        return Lookahead(widest_seconds, False, f"{waiting:,} messages wait, up to {most:,} are normal")
    narrow = min(widest_seconds, narrowest_seconds)
    return Lookahead(narrow, True, f"{waiting:,} messages wait, more than {most:,}: pollers release {narrow} s ahead")


#: A quiet shard's last visit released at most this many occurrences: as many as go out in one call.
MOST_QUIET = 100


class Poll(msgspec.Struct, frozen=True):
    """One poller to start for these shards. `reason`: `quiet`, or why the shard has a poller of its own."""

    partition_ids: tuple[str, ...]
    reason: str


def plan_polls(shards: Sequence[Shard], now: int, most_together: int) -> list[Poll]:
    """A poller for each shard that may have work now, and one for every `most_together` quiet shards, in order."""
    reasons = [(shard.partition_id, _busy(shard, now)) for shard in shards]
    quiet = [partition_id for partition_id, reason in reasons if reason is None]
    alone = [Poll((partition_id,), reason) for partition_id, reason in reasons if reason is not None]
    return [*alone, *(Poll(some, "quiet") for some in _groups(quiet, most_together))]


def begun_elsewhere(polls: Sequence[Poll], now: int, tick_seconds: int) -> list[Poll]:
    """The same pollers, begun at another one in each tick: a tick that ends too early leaves out others each time.

    Each tick begins 0.382 of the list further on, the golden section, so that ticks in a row begin far apart.
    """
    begin = now // (tick_seconds * 1_000) * 382 * len(polls) // 1_000 % len(polls) if polls else 0
    return [*polls[begin:], *polls[:begin]]


def _busy(shard: Shard, now: int) -> str | None:
    """Why a shard needs a poller of its own; None if the shard is quiet."""
    if shard.released is None:
        return "never_visited"
    if shard.released > MOST_QUIET:
        return "busy"
    if shard.lease_until >= now:
        return "at_work"
    # The horizon of an ordered shard is never ahead: its poller releases nothing before it is due.
    if not keys.is_ordered(shard.partition_id) and shard.horizon < keys.edge_key(now):
        return "behind"
    return None


def _groups(partition_ids: Sequence[str], size: int) -> Iterator[tuple[str, ...]]:
    return (tuple(partition_ids[first : first + size]) for first in range(0, len(partition_ids), size))
