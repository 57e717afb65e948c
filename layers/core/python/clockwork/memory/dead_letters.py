"""The dead-letter queue of a `MemoryReleaseQueue`."""

from __future__ import annotations

from collections.abc import Sequence

from clockwork.memory.release_queue import MemoryReleaseQueue
from clockwork.ports import DeadLetter


class MemoryDeadLetters:
    """`ports.DeadLetters` in plain Python."""

    def __init__(self, queue: MemoryReleaseQueue) -> None:
        self._queue = queue

    def receive(self) -> Sequence[DeadLetter]:
        return [DeadLetter(message.message_id, message.body) for message in self._queue.receive_dead()]

    def delete(self, receipt: str) -> None:
        self._queue.delete(receipt)
