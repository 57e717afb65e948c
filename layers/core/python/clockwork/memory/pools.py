"""The queues of pools, and the keys of their tickets, in plain Python."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from clockwork.domain.errors import Unavailable
from clockwork.domain.releases import Refused, delay_seconds
from clockwork.memory.clock import MemoryClock
from clockwork.memory.queue import LARGEST_MESSAGE
from clockwork.memory.release_queue import MemoryReleaseQueue
from clockwork.ports import PoolMessage

#: How long a message of a pool's queue is hidden once it is received (ms).
VISIBILITY_MS = 60_000


class MemoryPoolQueues:
    """`ports.PoolQueues` in plain Python: a queue for each priority of each pool.

    A receipt is the id of a message. `of` is where workers receive.
    """

    def __init__(self, world: MemoryClock, pools: Mapping[str, Collection[str]], max_receive_count: int = 100) -> None:
        self._queues: dict[tuple[str, str], MemoryReleaseQueue] = {
            (pool, priority): MemoryReleaseQueue(world, VISIBILITY_MS, max_receive_count)
            for pool, priorities in pools.items()
            for priority in priorities
        }

    def of(self, pool: str, priority: str = "normal") -> MemoryReleaseQueue:
        """The queue of a pool for a priority."""
        return self._queues[pool, priority]

    def all(self) -> Sequence[MemoryReleaseQueue]:
        """All queues."""
        return list(self._queues.values())

    def send(self, messages: Sequence[PoolMessage], now: int) -> Sequence[Refused]:
        refused = []
        for index, message in enumerate(messages):
            queue = self._queues.get((message.pool, message.priority))
            if queue is None:
                reason = f"the deployment has no queue of pool {message.pool} for the priority {message.priority}"
                refused.append(Refused(index, True, reason))
            elif len(message.body) > LARGEST_MESSAGE:
                refused.append(Refused(index, True, f"{len(message.body)} bytes are more than SQS takes"))
            else:
                queue.put(message.body, delay_seconds(message.run_at, now))
        return refused

    def delete(self, pool: str, priority: str, receipts: Sequence[str]) -> None:
        queue = self._queues.get((pool, priority))
        if queue is None:
            raise Unavailable(f"the deployment has no queue of pool {pool} for the priority {priority}")
        for receipt in receipts:
            queue.delete(receipt)


class MemoryTicketKeys:
    """`ports.TicketKeys` in plain Python."""

    def __init__(self) -> None:
        self.keys: list[str] = []

    def get(self) -> Sequence[str]:
        return tuple(self.keys)

    def make(self, key: str) -> None:
        if not self.keys:
            self.keys.append(key)
