"""A queue on moto as Lambda's event source uses it: receive, delete, and know when to look again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from moto.sqs.models import Message as MotoMessage

from clockwork.memory.clock import MemoryClock
from tests.crash_points.services import POOL_QUEUES, QUEUES, Services


@dataclass(frozen=True)
class Received:
    """A received message."""

    message_id: str
    body: str
    receive_count: int
    receipt: str
    group: str
    #: In ms.
    sent_at: int


class MotoQueue:
    """A release queue and its dead letters, as the simulated event source and the verdict see them."""

    #: The adversary doubles no message in this queue.
    may_double = False

    def __init__(self, services: Services, name: str, clock: MemoryClock) -> None:
        self._services = services
        self._name = name
        self._dead = {**QUEUES, **POOL_QUEUES}[name]
        self._clock = clock
        self._receipts: dict[str, str] = {}
        #: Called with each instant (ms) at which a message may be received.
        self.on_put: Callable[[int], None] = lambda _: None

    @property
    def messages(self) -> Mapping[str, MotoMessage]:
        """All messages that are waiting or received but not deleted, by id."""
        return {message.id: message for message in self._services.queue(self._name)._messages}

    @property
    def dead(self) -> Mapping[str, MotoMessage]:
        """The dead letters, by id."""
        return {message.id: message for message in self._services.queue(self._dead)._messages}

    def receive(self, limit: int = 10) -> Sequence[Received]:
        """Receives up to `limit` visible messages."""
        self._free_groups()
        told = ["ApproximateReceiveCount", "MessageGroupId", "SentTimestamp"]
        asked = {"AttributeNames": told, "MaxNumberOfMessages": limit}
        sqs = self._services.aws.client("sqs")
        answer = sqs.receive_message(QueueUrl=self._services.url(self._name), **asked)
        received = [
            Received(
                message["MessageId"],
                message["Body"],
                int(message["Attributes"]["ApproximateReceiveCount"]),
                message["ReceiptHandle"],
                message["Attributes"].get("MessageGroupId", ""),
                int(message["Attributes"]["SentTimestamp"]),
            )
            for message in answer.get("Messages", ())
        ]
        self._receipts.update((message.message_id, message.receipt) for message in received)
        if received:
            self.tell()
        return received

    def delete(self, message_id: str) -> None:
        """Deletes a message, which acknowledges it."""
        url = self._services.url(self._name)
        self._services.aws.client("sqs").delete_message(QueueUrl=url, ReceiptHandle=self._receipts[message_id])
        self.tell()

    def tell(self) -> None:
        """After a change, reports when each message may be received."""
        for message in self.messages.values():
            visible_at = int(max(message.visible_at, message.delayed_until, self._clock.at))
            self.on_put(visible_at + 1)  # moto hands out messages that became visible before now

    def _free_groups(self) -> None:
        """Frees all messages whose visibility timeout has ended, at once.

        moto frees them one by one while it hands messages out, so that a message behind the head of its group would be
        handed out before the head.
        """
        queue = self._services.queue(self._name)
        queue._pending_messages = {message for message in queue._pending_messages if not message.visible}


class MotoPoolQueue(MotoQueue):
    """A queue of a pool, as its workers use it. They know a message by its receipt, which is its id here."""

    def __init__(self, services: Services, name: str, clock: MemoryClock) -> None:
        super().__init__(services, name, clock)
        #: The bodies of the messages that were received, by their receipts.
        self.received: dict[str, str] = {}

    def receive(self, limit: int = 10) -> Sequence[Received]:
        """Receives up to `limit` visible messages."""
        found = [replace(one, message_id=one.receipt) for one in super().receive(limit)]
        self.received |= {one.receipt: one.body for one in found}
        return found


class MotoPoolQueues:
    """The queues of the pool, as the simulated workers and the verdict see them."""

    def __init__(self, services: Services, names: Sequence[str], clock: MemoryClock) -> None:
        self._queues = {name: MotoPoolQueue(services, name, clock) for name in names}
        #: Told the release in each ticket that was deleted.
        self.on_deleted: Callable[[str], None] = lambda _: None

    def all(self) -> Sequence[MotoPoolQueue]:
        """All queues."""
        return list(self._queues.values())

    def of(self, name: str) -> MotoPoolQueue | None:
        """The queue of this name, if it is one of the pool's."""
        return self._queues.get(name)
