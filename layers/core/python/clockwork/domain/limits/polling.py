"""Backpressure: while deliverers do not keep up with what is due, pollers release less far ahead.

What is in a release queue cannot be taken back, comes out in no order, and is handed out 120,000 messages at a time at
most; what is still in the timeline keeps its order, can surely be cancelled and expires without a message.


Which shards share a poller: where little happens, one invocation takes several.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from clockwork.domain import keys
from clockwork.domain.timeline import Shard


class Lookahead(msgspec.Struct, frozen=True):
    """How far ahead pollers release now, and why."""

    lookahead_seconds: int
    narrowed: bool
    reason: str


def plan_lookahead(widest_seconds: int, narrowest_seconds: int, waiting: int, most: int) -> Lookahead:
    """`waiting`: messages that are due and not delivered yet; beyond `most` the lookahead is narrowed.

    `narrowest_seconds` has to reach from a poll to the next but one, so that a shard that is not behind stays so.
    """
    if waiting <= most:
        return Lookahead(widest_seconds, False, f"{waiting:,} messages wait, up to {most:,} are normal")
    narrow = min(widest_seconds, narrowest_seconds)
    return Lookahead(narrow, True, f"{waiting:,} messages wait, more than {most:,}: pollers release {narrow} s ahead")


#: What a visit of a quiet shard releases at the most: as much as goes out in one call.
MOST_QUIET = 100


class Poll(msgspec.Struct, frozen=True):
    """One poller to be started, of these shards. `reason`: `quiet`, or why the shard has a poller of its own."""

    partition_ids: tuple[str, ...]
    reason: str


def plan_polls(shards: Sequence[Shard], now: int, most_together: int) -> list[Poll]:
    """A poller for each shard that may have work at hand, and one for each `most_together` of the others, in order."""
    reasons = [(shard.partition_id, _busy(shard, now)) for shard in shards]
    quiet = [partition_id for partition_id, reason in reasons if reason is None]
    alone = [Poll((partition_id,), reason) for partition_id, reason in reasons if reason is not None]
    return [*alone, *(Poll(some, "quiet") for some in _groups(quiet, most_together))]


def _busy(shard: Shard, now: int) -> str | None:
    """Why a shard is not quiet, if it is not."""
    if shard.released is None:
        return "never_visited"
    if shard.released > MOST_QUIET:
        return "busy"
    if shard.lease_until >= now:
        return "at_work"
    # An ordered shard is never looked ahead to.
    if not keys.is_ordered(shard.partition_id) and shard.horizon < keys.edge_key(now):
        return "behind"
    return None


def _groups(partition_ids: Sequence[str], size: int) -> Iterator[tuple[str, ...]]:
    return (tuple(partition_ids[first : first + size]) for first in range(0, len(partition_ids), size))
