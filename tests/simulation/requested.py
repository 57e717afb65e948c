"""What is asked for by message: a FIFO queue of wishes, the ingesters that read it, and what came of each wish."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

from clockwork.domain.errors import InvalidRequest, Problem
from clockwork.domain.requests.create import Rejected
from clockwork.flows.requests.ingest import Command, Ingestion, IngestReport, Message
from clockwork.memory.ordered_queue import GroupedMessage, MemoryOrderedQueue
from clockwork.memory.outboxes import MemoryRejects
from clockwork.ports import Refused
from tests.simulation.cloud import BATCH, ApiEnvironment, Cloud
from tests.simulation.faults import Fault
from tests.simulation.scheduler import Actor

#: How often a message comes that is never done: what a lane waits for must end some day.
MOST_RECEIVES = 10_000


@dataclass
class Wish:
    """What one message asks for: its name as an operation, how it is read, and what follows once it is done.

    `command` raises what the reader of a message would; `None` if nobody can read it. `done` is told whether this was
    the only cancel of a batch and in time.
    """

    operation: str
    lane: str
    command: Callable[[Message], Command] | None
    done: Callable[[bool], None]
    #: When its message was acknowledged (ms).
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
        """Somebody sends a message."""
        self.wishes.append(wish)
        number = str(len(self.wishes) - 1)
        self.queue.put(number, wish.lane, number)
        self._look()

    def _look(self) -> None:
        """Look for messages as soon as one may be received."""
        at = self.queue.next_visible_at()
        if at is not None and at not in self._looks:
            self._looks.add(at)
            self.cloud.scheduler.after(at - self.cloud.scheduler.now, partial(self._pump, at))

    def _pump(self, at: int) -> None:
        self._looks.discard(at)
        while received := self.queue.receive(self.cloud.adversary.rng.randint(1, BATCH)):
            self._ingest(received)
        self._look()

    def _ingest(self, received: Sequence[GroupedMessage]) -> None:
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

    def _settle(self, received: Sequence[GroupedMessage], report: IngestReport, rejected: set[str]) -> None:
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
    """`flows.requests.ingest.Rejects`, which sometimes takes nothing."""

    def __init__(self, cloud: Cloud, inner: MemoryRejects) -> None:
        self._cloud = cloud
        self._inner = inner

    def send(self, rejected: Sequence[Rejected]) -> Sequence[Refused]:
        if self._cloud.adversary.strikes(Fault.REJECTS_REFUSED, self._cloud.adversary.profile.queue):
            return [Refused(index, permanent=False, reason="not taken") for index in range(len(rejected))]
        return self._inner.send(rejected)
