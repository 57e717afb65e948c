"""A correction to the emulator's queues, made in its process: standard queues are fair, as SQS documents it.

A group is noisy if it has at least 30 messages in flight and more than a tenth of all. A group is also noisy if it had
more than a tenth of the time that consumers spent of late. Messages of the other groups are received first. SQS does
not say how far back it looks: here the time counts half after 30 s.
https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-fair-queues-detailed.html
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

NOISY_SHARE = 0.1
LEAST_IN_FLIGHT = 30
HALF_LIFE_SECONDS = 30.0


class Consumption:
    """The messages that consumers of a queue have had in flight, by group."""

    def __init__(self) -> None:
        self._spent: dict[str, float] = {}
        self._seen: Counter[str] = Counter()
        self._at = 0.0

    def noisy(self, in_flight: Mapping[str, int], now: float) -> Collection[str]:
        """The noisy groups, now (s) that so many messages of each group are in flight."""
        seconds = max(0.0, now - self._at) if self._at else 0.0
        fade = 0.5 ** (seconds / HALF_LIFE_SECONDS)
        self._spent = {
            group: self._spent.get(group, 0.0) * fade + self._seen[group] * seconds
            for group in self._spent.keys() | self._seen.keys()
        }
        self._seen, self._at = Counter(in_flight), now
        flying, spent = sum(in_flight.values()), sum(self._spent.values())
        crowd = {
            group for group, count in in_flight.items() if count >= LEAST_IN_FLIGHT and count > NOISY_SHARE * flying
        }
        return crowd | {group for group, time_of in self._spent.items() if time_of > NOISY_SHARE * spent}


def quiet_first(messages: Sequence[Mapping[str, Any]], noisy: Collection[str]) -> list[Mapping[str, Any]]:
    """The messages in their order, with noisy groups behind the others."""
    return sorted(messages, key=lambda one: one.get("group_id") in noisy)


def make_queues_fair() -> None:
    """To be called before the emulator serves."""
    from ministack.services import sqs

    collect, known = sqs._collect_msgs, dict[str, Consumption]()

    def collect_fairly(queue: Any, most: int, visibility: int) -> Any:
        messages = list(queue["messages"])
        if queue["is_fifo"] or not any(one.get("group_id") for one in messages):
            return collect(queue, most, visibility)
        now = time.time()
        in_flight = Counter(
            one["group_id"]
            for one in messages
            if one.get("group_id") and one.get("receive_count") and one["visible_at"] > now
        )
        noisy = known.setdefault(queue["url"], Consumption()).noisy(in_flight, now)
        return collect({**queue, "messages": quiet_first(messages, noisy)}, most, visibility)

    sqs._collect_msgs = collect_fairly
