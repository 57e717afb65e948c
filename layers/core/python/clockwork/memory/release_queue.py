"""The release queue in plain Python: delay, visibility, receive counts and a dead-letter queue, as SQS keeps them."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from clockwork.domain.messages.bundles import plan_bundles
from clockwork.domain.releases import Release, delay_seconds
from clockwork.domain.storage.codec import encode_message
from clockwork.memory.clock import MemoryClock
from clockwork.ports import Refused

#: The most bytes of one message:
#: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/quotas-messages.html
LARGEST_MESSAGE = 1_048_576


@dataclass
class Message:
    """One message, visible from `visible_at` on (ms, by the world's clock)."""

    message_id: str
    body: str
    visible_at: int
    receive_count: int = 0


class MemoryReleaseQueue:
    """`ports.ReleaseQueue` and `ports.Backlog` in plain Python.

    `receive` and `delete` are the calls of Lambda's event source.
    """

    def __init__(self, world: MemoryClock, visibility_ms: int = 120_000, max_receive_count: int = 100) -> None:
        self._world = world
        self._visibility_ms = visibility_ms
        self._max_receive_count = max_receive_count
        self._numbers = itertools.count(1)
        self.messages: dict[str, Message] = {}
        self.dead: dict[str, Message] = {}

    def send(self, releases: Sequence[Release], now: int) -> Sequence[Refused]:
        refused = []
        for bundle in plan_bundles(releases, now):
            body = encode_message([releases[index] for index in bundle.indexes])
            if len(body) > LARGEST_MESSAGE:
                reason = f"{len(body)} bytes are more than SQS takes"
                refused += [Refused(index, True, reason) for index in bundle.indexes]
                continue
            self.put(body, delay_seconds(bundle.run_at, now))
        return refused

    def put(self, body: str, delay: int = 0) -> str:
        """Enqueue a message with any body, delayed by `delay` seconds; its id."""
        message = Message(f"m{next(self._numbers)}", body, self._world.at + delay * 1000)
        self.messages[message.message_id] = message
        return message.message_id

    def receive(self, limit: int = 10) -> Sequence[Message]:
        """Up to `limit` visible messages, oldest first; a message received too often moves to `dead` instead."""
        received: list[Message] = []
        visible = [m for m in self.messages.values() if m.visible_at <= self._world.at]
        for message in sorted(visible, key=lambda m: m.visible_at):
            if len(received) == limit:
                break
            message.receive_count += 1
            if message.receive_count > self._max_receive_count:
                self.dead[message.message_id] = self.messages.pop(message.message_id)
                continue
            message.visible_at = self._world.at + self._visibility_ms
            received.append(message)
        return received

    def receive_dead(self, limit: int = 10) -> Sequence[Message]:
        """Up to `limit` visible messages of the dead-letter queue."""
        received = [m for m in self.dead.values() if m.visible_at <= self._world.at][:limit]
        for message in received:
            message.visible_at = self._world.at + self._visibility_ms
        return received

    def delete(self, message_id: str) -> None:
        """Acknowledge a message; to do so again does nothing."""
        self.messages.pop(message_id, None)
        self.dead.pop(message_id, None)

    def waiting(self) -> int:
        """`ports.Backlog`: how many messages are visible or in hand."""
        return sum(m.visible_at <= self._world.at or m.receive_count > 0 for m in self.messages.values())

    def next_visible_at(self) -> int | None:
        """When the next message may be received (ms, by the world's clock); None if there is none."""
        return min((m.visible_at for m in self.messages.values()), default=None)
