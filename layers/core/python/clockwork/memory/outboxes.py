"""Outboxes in plain Python, for messages that are not releases: notices to clients, rejected requests, dead letters."""

from __future__ import annotations

from collections.abc import Sequence

from clockwork.domain.executions import Execution
from clockwork.domain.requests.create import Rejected
from clockwork.memory.queue import MemoryQueue
from clockwork.ports import DeadLetter, Refused


class MemoryNotices:
    """`ports.Notices` in plain Python. `told`: the queue's ARN and the execution of each notice sent."""

    def __init__(self) -> None:
        self.told: list[tuple[str, Execution]] = []

    def send(self, queue_arn: str, execution: Execution) -> None:
        self.told.append((queue_arn, execution))


class MemoryRejects:
    """`flows.requests.ingest.Rejects` in plain Python."""

    def __init__(self) -> None:
        self.rejected: list[Rejected] = []

    def send(self, rejected: Sequence[Rejected]) -> Sequence[Refused]:
        self.rejected += rejected
        return ()


class MemoryDeadLetters:
    """`ports.DeadLetters` in plain Python, over both kinds of queue: no two of their messages share an id."""

    def __init__(self, *queues: MemoryQueue) -> None:
        self._queues = queues

    def receive(self) -> Sequence[DeadLetter]:
        return [DeadLetter(one.message_id, one.body) for queue in self._queues for one in queue.receive_dead()]

    def delete(self, receipt: str) -> None:
        for queue in self._queues:
            queue.delete(receipt)

    def beside(self) -> int:
        return 0
