"""The release queue and the queues of pools in plain Python: delay, visibility and dead letters as SQS has them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from clockwork.domain.errors import Unavailable
from clockwork.domain.messages.alignment import Aligned
from clockwork.domain.messages.bundles import plan_bundles
from clockwork.domain.pools.pool import Tickets
from clockwork.domain.releases import Refused, Release, delay_seconds
from clockwork.domain.storage.codec import encode_message
from clockwork.memory.clock import MemoryClock
from clockwork.memory.queue import LARGEST_MESSAGE, MemoryQueue, Message
from clockwork.ports import PoolMessage

#: How long a message of a pool's queue is hidden once it is received (ms).
VISIBILITY_MS = 60_000


class MemoryReleaseQueue(MemoryQueue):
    """`ports.ReleaseQueue` and `ports.Backlog` in plain Python.

    `receive` and `delete` are the calls of Lambda's event source.
    """

    def __init__(
        self,
        world: MemoryClock,
        visibility_ms: int = 120_000,
        max_receive_count: int = 100,
        late_tolerance_ms: int = 0,
        ids: str = "m",
    ) -> None:
        super().__init__(world, ids, visibility_ms, max_receive_count)
        self._late_tolerance_ms = late_tolerance_ms

    def send(self, releases: Sequence[Release], now: int, aligned: Aligned | None = None) -> Sequence[Refused]:
        refused = []
        counted_from = now - self._late_tolerance_ms if aligned is None else aligned.counted_from(aligned.at)
        for bundle in plan_bundles(releases, now):
            body = encode_message([releases[index] for index in bundle.indexes])
            if len(body) > LARGEST_MESSAGE:
                reason = f"{len(body)} bytes are more than SQS takes"
                refused += [Refused(index, True, reason) for index in bundle.indexes]
                continue
            self.put(body, delay_seconds(bundle.run_at, counted_from))
        return refused

    def put(self, body: str, delay: int = 0) -> str:
        """Enqueue any body, visible after `delay` seconds; the id of its message."""
        return self._add(body, delay)

    def receive(self, limit: int = 10) -> Sequence[Message]:
        """Up to `limit` visible messages, oldest first; a message received too often moves to `dead` instead."""
        visible = [m for m in self.messages.values() if m.visible_at <= self._world.at]
        return self._hand_out(sorted(visible, key=lambda m: m.visible_at), limit)

    def hold(self, message_id: str, seconds: int) -> bool:
        """Hide a message that is in flight, for `seconds` from now. Returns whether it was in flight."""
        message = self.messages.get(message_id)
        if message is None or message.receive_count == 0 or message.visible_at <= self._world.at:
            return False
        message.visible_at = self._world.at + seconds * 1000
        return True

    def waiting(self) -> int:
        """`ports.Backlog`: the number of messages, visible or in flight."""
        return sum(m.visible_at <= self._world.at or m.receive_count > 0 for m in self.messages.values())

    def next_visible_at(self) -> int | None:
        """When the next message may be received (ms, by the world's clock); None if there is none."""
        return min((m.visible_at for m in self.messages.values()), default=None)


class MemoryPoolQueues:
    """`ports.PoolQueues` in plain Python: all queues of each pool.

    A receipt is the id of a message. `of` is where workers receive.
    """

    def __init__(self, world: MemoryClock, pools: Mapping[str, Collection[str]], max_receive_count: int = 100) -> None:
        self._world = world
        self._queues: dict[tuple[str, str], MemoryReleaseQueue] = {
            (pool, name): MemoryReleaseQueue(world, VISIBILITY_MS, max_receive_count, ids=f"{pool}-{name}-")
            for pool, names in pools.items()
            for name in names
        }

    def of(self, pool: str, name: str = "normal") -> MemoryReleaseQueue:
        """A queue of a pool."""
        return self._queues[pool, name]

    def all(self) -> Sequence[MemoryReleaseQueue]:
        """All queues."""
        return list(self._queues.values())

    def send(self, messages: Sequence[PoolMessage], now: int) -> Sequence[Refused]:
        refused = []
        for index, message in enumerate(messages):
            queue = self._queues.get((message.pool, message.queue))
            if queue is None:
                reason = f"the deployment has no queue of pool {message.pool} called {message.queue}"
                refused.append(Refused(index, True, reason))
            elif len(message.body) > LARGEST_MESSAGE:
                refused.append(Refused(index, True, f"{len(message.body)} bytes are more than SQS takes"))
            else:
                queue.put(message.body, delay_seconds(message.run_at, now))
        return refused

    def waiting(self, pool: str) -> Mapping[str, Tickets]:
        of_pool = ((name, queue) for (its_pool, name), queue in self._queues.items() if its_pool == pool)
        return {name: self._counted(queue.messages.values()) for name, queue in of_pool}

    def _counted(self, messages: Collection[Message]) -> Tickets:
        ready = sum(one.visible_at <= self._world.at for one in messages)
        # What was received and is hidden is in somebody's hand.
        return Tickets(ready, sum(one.visible_at > self._world.at and not one.receive_count for one in messages))

    def delete(self, pool: str, queue: str, receipts: Sequence[str]) -> None:
        found = self._found(pool, queue)
        for receipt in receipts:
            found.delete(receipt)

    def hold(self, pool: str, queue: str, receipts: Sequence[str], seconds: int) -> Sequence[bool]:
        found = self._found(pool, queue)
        return [found.hold(receipt, seconds) for receipt in receipts]

    def _found(self, pool: str, queue: str) -> MemoryReleaseQueue:
        if (pool, queue) not in self._queues:
            raise Unavailable(f"the deployment has no queue of pool {pool} called {queue}")
        return self._queues[pool, queue]
