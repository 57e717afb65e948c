"""The ordered release queue in plain Python, by the rules of SQS FIFO: locked groups, and deduplication ids.

https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/FIFO-queues-understanding-logic.html
"""

from __future__ import annotations

from collections.abc import Sequence

from clockwork.domain.jobs import Occurrence
from clockwork.domain.messages.alignment import Aligned
from clockwork.domain.messages.turns import send_in_turns
from clockwork.domain.ordering import dedup_of, group_of
from clockwork.domain.releases import Refused, Release
from clockwork.domain.storage.codec import encode_message
from clockwork.memory.clock import MemoryClock
from clockwork.memory.queue import LARGEST_MESSAGE, MemoryQueue, Message

#: The time (ms) for which a deduplication id is remembered, from its first send on.
REMEMBERED_MS = 300_000


class MemoryOrderedQueue(MemoryQueue):
    """`ports.ReleaseQueue` and `ports.Visibility` in plain Python, and what Lambda's event source does with the queue.

    In an account releases to Kafka have a queue of their own. Here they have groups of their own, with an order and a
    memory of sends of their own.
    """

    def __init__(self, world: MemoryClock, visibility_ms: int = 120_000, max_receive_count: int = 1_000) -> None:
        super().__init__(world, "f", visibility_ms, max_receive_count)
        self._sent: dict[tuple[str, str], int] = {}

    def send(  # no delays here
        self,
        releases: Sequence[Release],
        now: int,  # noqa: ARG002
        aligned: Aligned | None = None,  # noqa: ARG002
    ) -> Sequence[Refused]:
        return send_in_turns(releases, self._send_turn)

    def _send_turn(self, turn: Sequence[Release]) -> Sequence[Refused]:
        refused = []
        for index, release in enumerate(turn):
            body = encode_message([release])
            if len(body) > LARGEST_MESSAGE:
                refused.append(Refused(index, True, f"{len(body)} bytes are more than SQS takes"))
            else:
                self.put(body, _group_of(release.occurrence), dedup_of(release))
        return refused

    def put(self, body: str, group: str, dedup: str) -> None:
        """Enqueue any body, unless its group has seen its deduplication id within five minutes."""
        if self._world.at < self._sent.get((group, dedup), 0) + REMEMBERED_MS:
            return
        self._sent[group, dedup] = self._world.at
        self._add(body, group=group)

    def receive(self, limit: int = 10) -> Sequence[Message]:
        """Up to `limit` messages in the order of their sends, none of a group with a message in flight."""
        locked = {m.group for m in self.messages.values() if m.visible_at > self._world.at}
        return self._hand_out([m for m in self.messages.values() if m.group not in locked], limit)

    def hide(self, receipts: Sequence[str], seconds: int) -> None:
        """A receipt of an earlier receive, or of one whose time is over, changes nothing."""
        for receipt in receipts:
            message = self.messages.get(receipt.partition(" ")[0])
            if message is not None and message.receipt == receipt and message.visible_at > self._world.at:
                message.visible_at = self._world.at + seconds * 1000

    def next_visible_at(self) -> int | None:
        """The instant (world clock, ms) of the next receive.

        A group's is the instant at which its last received message is visible again.
        """
        free_at: dict[str, int] = {}
        for message in self.messages.values():
            free_at[message.group] = max(free_at.get(message.group, 0), message.visible_at)
        return min(free_at.values(), default=None)


def _group_of(occurrence: Occurrence) -> str:
    group = group_of(occurrence)
    return f"kafka {group}" if occurrence.target.lane == "kafka" else group
