"""The dead-letter queue of a `MemoryReleaseQueue`."""

from __future__ import annotations

from collections.abc import Sequence

from clockwork.memory.ordered_queue import MemoryOrderedQueue
from clockwork.memory.release_queue import MemoryReleaseQueue
from clockwork.ports import DeadLetter


class MemoryDeadLetters:
    """`ports.DeadLetters` in plain Python, over both kinds of queue: no two of their messages share an id."""

    def __init__(self, *queues: MemoryReleaseQueue | MemoryOrderedQueue) -> None:
        self._queues = queues

    def receive(self) -> Sequence[DeadLetter]:
        return [DeadLetter(one.message_id, one.body) for queue in self._queues for one in queue.receive_dead()]

    def delete(self, receipt: str) -> None:
        for queue in self._queues:
            queue.delete(receipt)
