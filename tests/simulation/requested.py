"""Requests by message: a FIFO queue of wishes, the ingesters that read it, and the result of each wish."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

from clockwork.domain.errors import InvalidRequest, Problem
from clockwork.domain.requests.create import Rejected
from clockwork.flows.requests.ingest import Command, Ingestion, IngestReport, Message
from clockwork.memory.ordered_queue import MemoryOrderedQueue
from clockwork.memory.outboxes import MemoryRejects
from clockwork.memory.queue import Message as Received
from clockwork.ports import Refused
from tests.simulation.cloud import BATCH, ApiEnvironment, Cloud
from tests.simulation.faults import Fault
from tests.simulation.scheduler import Actor

#: A message is received at most this often before the queue gives it up, so that a lane does not wait for ever.
MOST_RECEIVES = 10_000


@dataclass
class Wish:
    """The request in one message: its name as an operation, how it is read, and what follows once it is done.

    `command` raises the errors of the reader of a message; it is None for an unreadable message. `done` is told whether
    this was the only cancel of its batch and in time.
    """

    operation: str
    lane: str
    command: Callable[[Message], Command] | None
    done: Callable[[bool], None]
    #: When the ingester acknowledged its message (ms).
    settled_at: int | None = None
    rejected: bool = False


@dataclass
class Requests:
    """The queue of one run and its readers."""

    cloud: Cloud
    count: Callable[[str, str], None]
    wishes: list[Wish] = field(default_factory=list)

    def __post_init__(self) -> None:
        cloud = self.cloud
        visibility_ms = cloud.settings.ingester_timeout_seconds * 1000
        self.queue = MemoryOrderedQueue(cloud.scheduler.clock, visibility_ms, MOST_RECEIVES)
        self.environment = ApiEnvironment(cloud.settings, cloud.skew())
        self._looks: set[int] = set()

    def send(self, wish: Wish) -> None:
        """Sends a message to the queue."""
        self.wishes.append(wish)
        number = str(len(self.wishes) - 1)
        self.queue.put(number, wish.lane, number)
        self._look()

    def _look(self) -> None:
        """Schedules a look at the queue for the instant at which a message may be received."""
        at = self.queue.next_visible_at()
        if at is not None and at not in self._looks:
            self._looks.add(at)
            self.cloud.scheduler.after(at - self.cloud.scheduler.now, partial(self._pump, at))

    def _pump(self, at: int) -> None:
        self._looks.discard(at)
        while received := self.queue.receive(self.cloud.adversary.rng.randint(1, BATCH)):
            self._ingest(received)
        self._look()

    def _ingest(self, received: Sequence[Received]) -> None:
        cloud = self.cloud
        messages = [Message(one.message_id, one.group, one.body.encode()) for one in received]
        rejects = MemoryRejects()

        def run(actor: Actor) -> IngestReport:
            cloud.end_at_deadline(actor, cloud.settings.ingester_timeout_seconds)
            world = cloud.world(actor, cloud.settings, self.environment.skew_ms)
            shards = self.environment.shards(world)
            kept = _Rejects(cloud, rejects)
            return Ingestion(world, kept, self.environment.intake, shards, self._read).run(messages)

        def on_end(actor: Actor) -> None:
            if isinstance(actor.result, IngestReport):
                self._settle(received, actor.result, {one.message_id for one in rejects.rejected})
            self._look()

        cloud.scheduler.spawn("ingester", run, after=cloud.adversary.rng.randrange(5, 300), on_end=on_end)

    def _read(self, message: Message) -> Command:
        command = self.wishes[int(message.body)].command
        if command is None:
            raise InvalidRequest([Problem("/op", "must be one of 'create', 'cancel'")])
        return command(message)

    def _settle(self, received: Sequence[Received], report: IngestReport, rejected: set[str]) -> None:
        done = [one for one in received if one.message_id not in report.failed]
        accepted = [one for one in done if one.message_id not in rejected]
        cancels = [one for one in accepted if self.wishes[int(one.body)].operation == "cancel by message"]
        for one in done:
            wish = self.wishes[int(one.body)]
            if not self.cloud.adversary.strikes(Fault.REQUEST_AGAIN, self.cloud.adversary.profile.queue):
                self.queue.delete(one.message_id)
            if wish.settled_at is None:
                wish.settled_at = self.cloud.scheduler.now
                wish.rejected = one.message_id in rejected
                self.count(wish.operation, "refused: rejected" if wish.rejected else "succeeded")
            if one in accepted:
                wish.done(cancels == [one] and report.cancelled == 1)


class _Rejects:
    """`flows.requests.ingest.Rejects`, which sometimes refuses every message."""

    def __init__(self, cloud: Cloud, inner: MemoryRejects) -> None:
        self._cloud = cloud
        self._inner = inner

    def send(self, rejected: Sequence[Rejected]) -> Sequence[Refused]:
        if self._cloud.adversary.strikes(Fault.REJECTS_REFUSED, self._cloud.adversary.profile.queue):
            return [Refused(index, permanent=False, reason="not taken") for index in range(len(rejected))]
        return self._inner.send(rejected)
