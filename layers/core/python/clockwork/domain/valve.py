"""The valve: while deliverers do not keep up with what is due, pollers release less far ahead.

What is in a release queue cannot be taken back, comes out in no order, and is handed out 120,000 messages at a time at
most; what is still in the timeline keeps its order, can surely be cancelled and expires without a message.
"""

from __future__ import annotations

import msgspec


class Opening(msgspec.Struct, frozen=True):
    """How far ahead pollers release now, and why."""

    lookahead_seconds: int
    narrowed: bool
    reason: str


def plan_opening(widest_seconds: int, narrowest_seconds: int, waiting: int, most: int) -> Opening:
    """`waiting`: messages that are due and not delivered yet; beyond `most` the valve narrows.

    `narrowest_seconds` has to reach from a poll to the next but one, so that a shard that is not behind stays so.
    """
    if waiting <= most:
        return Opening(widest_seconds, False, f"{waiting:,} messages wait, up to {most:,} are normal")
    narrow = min(widest_seconds, narrowest_seconds)
    return Opening(narrow, True, f"{waiting:,} messages wait, more than {most:,}: pollers release {narrow} s ahead")
