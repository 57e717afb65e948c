"""Messages as SQS keeps them: visibility, receive counts and a dead-letter queue."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from clockwork.memory.clock import MemoryClock

#: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/quotas-messages.html
LARGEST_MESSAGE = 1_048_576


@dataclass
class Message:
    """One message. Instants are on the world's clock, ms. `group` is the message group in an ordered queue."""

    message_id: str
    body: str
    visible_at: int
    sent_at: int
    group: str = ""
    receive_count: int = 0

    @property
    def receipt(self) -> str:
        """Stands for its last receive."""
        return f"{self.message_id} {self.receive_count}"


class MemoryQueue:
    """A queue and its dead-letter queue. The ids of its messages begin with `ids`.

    A received message is hidden for `visibility_ms`. After `max_receive_count` receives it is dead.
    """

    def __init__(self, world: MemoryClock, ids: str, visibility_ms: int, max_receive_count: int) -> None:
        self._world = world
        self._visibility_ms = visibility_ms
        self._max_receive_count = max_receive_count
        self._ids = ids
        self._numbers = itertools.count(1)
        self.messages: dict[str, Message] = {}
        self.dead: dict[str, Message] = {}

    def receive_dead(self, limit: int = 10) -> Sequence[Message]:
        """Up to `limit` visible messages of the dead-letter queue."""
        received = [m for m in self.dead.values() if m.visible_at <= self._world.at][:limit]
        for message in received:
            message.visible_at = self._world.at + self._visibility_ms
        return received

    def delete(self, message_id: str) -> None:
        """Acknowledge a message; a second time does nothing."""
        self.messages.pop(message_id, None)
        self.dead.pop(message_id, None)

    def _add(self, body: str, delay: int = 0, group: str = "") -> str:
        now = self._world.at
        message = Message(f"{self._ids}{next(self._numbers)}", body, now + delay * 1000, now, group)
        self.messages[message.message_id] = message
        return message.message_id

    def _hand_out(self, candidates: Iterable[Message], limit: int) -> Sequence[Message]:
        """The first `limit` of the candidates; one received too often moves to `dead` instead."""
        received: list[Message] = []
        for message in candidates:
            if len(received) == limit:
                break
            message.receive_count += 1
            if message.receive_count > self._max_receive_count:
                self.dead[message.message_id] = self.messages.pop(message.message_id)
                continue
            message.visible_at = self._world.at + self._visibility_ms
            received.append(message)
        return received
