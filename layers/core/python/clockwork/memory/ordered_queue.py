"""The ordered release queue in plain Python, by the rules of SQS FIFO: groups that lock, and what was sent lately.

https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/FIFO-queues-understanding-logic.html
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from clockwork.domain.messages.turns import send_in_turns
from clockwork.domain.ordering import dedup_of, group_of
from clockwork.domain.releases import Release
from clockwork.domain.storage.codec import encode_message
from clockwork.memory.clock import MemoryClock
from clockwork.memory.release_queue import LARGEST_MESSAGE
from clockwork.ports import Refused

#: So long a deduplication id is remembered from its first send on (ms).
REMEMBERED_MS = 300_000


@dataclass
class GroupedMessage:
    """One message. `visible_at` is on the world's clock, ms. `number` is its place among all that were ever sent."""

    message_id: str
    body: str
    group: str
    number: int
    visible_at: int
    receive_count: int = 0

    @property
    def receipt(self) -> str:
        """Stands for its last receive."""
        return f"{self.message_id} {self.receive_count}"


class MemoryOrderedQueue:
    """`ports.ReleaseQueue` and `ports.InHand` in plain Python, and what Lambda's event source does with the queue."""

    def __init__(self, world: MemoryClock, visibility_ms: int = 120_000, max_receive_count: int = 1_000) -> None:
        self._world = world
        self._visibility_ms = visibility_ms
        self._max_receive_count = max_receive_count
        self._numbers = itertools.count(1)
        self._sent: dict[tuple[str, str], int] = {}
        self.messages: dict[str, GroupedMessage] = {}
        self.dead: dict[str, GroupedMessage] = {}

    def send(self, releases: Sequence[Release], now: int) -> Sequence[Refused]:  # noqa: ARG002 - no delays here
        return [Refused(*refusal) for refusal in send_in_turns(releases, self._send_turn)]

    def _send_turn(self, turn: Sequence[Release]) -> Sequence[tuple[int, bool, str]]:
        refused = []
        for index, release in enumerate(turn):
            body = encode_message([release])
            if len(body) > LARGEST_MESSAGE:
                refused.append((index, True, f"{len(body)} bytes are more than SQS takes"))
            else:
                self.put(body, group_of(release.occurrence), dedup_of(release))
        return refused

    def put(self, body: str, group: str, dedup: str) -> None:
        """Enqueue any body, unless its group has seen its deduplication id within five minutes."""
        if self._world.at < self._sent.get((group, dedup), 0) + REMEMBERED_MS:
            return
        self._sent[group, dedup] = self._world.at
        number = next(self._numbers)
        message = GroupedMessage(f"f{number}", body, group, number, self._world.at)
        self.messages[message.message_id] = message

    def receive(self, limit: int = 10) -> Sequence[GroupedMessage]:
        """Up to `limit` messages in the order of their sends, none of a group of which one is in hand."""
        locked = {m.group for m in self.messages.values() if m.visible_at > self._world.at}
        received: list[GroupedMessage] = []
        for message in sorted(self.messages.values(), key=lambda m: m.number):
            if len(received) == limit:
                break
            if message.group in locked:
                continue
            message.receive_count += 1
            if message.receive_count > self._max_receive_count:
                self.dead[message.message_id] = self.messages.pop(message.message_id)
                continue
            message.visible_at = self._world.at + self._visibility_ms
            received.append(message)
        return received

    def hide(self, receipts: Sequence[str], seconds: int) -> None:
        """A receipt of an earlier receive, or of one whose time is over, changes nothing."""
        for receipt in receipts:
            message = self.messages.get(receipt.partition(" ")[0])
            if message is not None and message.receipt == receipt and message.visible_at > self._world.at:
                message.visible_at = self._world.at + seconds * 1000

    def receive_dead(self, limit: int = 10) -> Sequence[GroupedMessage]:
        """Up to `limit` visible messages of the dead-letter queue."""
        received = [m for m in self.dead.values() if m.visible_at <= self._world.at][:limit]
        for message in received:
            message.visible_at = self._world.at + self._visibility_ms
        return received

    def delete(self, message_id: str) -> None:
        """Acknowledge a message; a second time does nothing."""
        self.messages.pop(message_id, None)
        self.dead.pop(message_id, None)

    def next_visible_at(self) -> int | None:
        """When the next message may be received (world clock, ms): a group's when its last in hand is visible again."""
        free_at: dict[str, int] = {}
        for message in self.messages.values():
            free_at[message.group] = max(free_at.get(message.group, 0), message.visible_at)
        return min(free_at.values(), default=None)
