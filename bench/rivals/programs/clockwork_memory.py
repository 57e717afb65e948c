"""Runs Clockwork's flows in real time over the adapters in memory, in this one process. Not durable."""

from __future__ import annotations

import threading
import time
import traceback
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NoReturn

from bench.rivals.programs.talk import Job, one_by_one, serve
from clockwork.aws.clock import OsRandom, SystemClock
from clockwork.aws.repeats import batches
from clockwork.aws.targets.http import HttpTransport
from clockwork.aws.targets.threads import ThreadedTargets
from clockwork.domain.clients import Client
from clockwork.domain.messages.alignment import Aligned
from clockwork.domain.releases import Release
from clockwork.domain.requests.create import CreateRequest, NewJob
from clockwork.flows.deliver.deliver import deliver_batch
from clockwork.flows.deliver.inbox import Message
from clockwork.flows.poll.shard import poll_shard
from clockwork.flows.requests.create import create_jobs
from clockwork.flows.timeline.shards import ensure_shards
from clockwork.flows.world import Environment, World
from clockwork.memory.clock import MemoryClock
from clockwork.memory.queue import Message as QueueMessage
from clockwork.memory.release_queue import MemoryReleaseQueue
from clockwork.memory.world import MemoryClockwork
from clockwork.ports import Refused
from clockwork.settings import Settings
from clockwork.targets.http import HttpTarget
from clockwork.targets.message import Payload

CLIENT = Client(client_id="bench", allowed_private_targets=("127.0.0.1:*",))
LARGEST_REQUEST = 500
#: How often the queue is looked into, as the local stack's event sources are woken.
WAKE_SECONDS = 0.02


class WallClock(MemoryClock):
    """The memory adapters' clock, which shows the time of this machine and cannot be set."""

    def __init__(self) -> None:
        self._system = SystemClock()
        self.skew_ms = 0

    @property
    def at(self) -> int:  # type: ignore[override]
        """Now (ms)."""
        return self._system.now()

    def hold_until(self, at: int) -> None:
        """Sleep until an instant (ms)."""
        self._system.hold_until(at)


class NoSecrets:
    """Signing secrets, of which these jobs have none."""

    def get(self, name: str) -> NoReturn:
        """There is none."""
        raise KeyError(name)


class SharedQueue(MemoryReleaseQueue):
    """The release queue for several threads, which take turns."""

    def __init__(self, clock: MemoryClock, settings: Settings) -> None:
        visible_ms = settings.visibility_seconds * 1_000
        super().__init__(clock, visible_ms, settings.max_receive_count, settings.late_tolerance_ms)
        self._lock = threading.Lock()

    def send(self, releases: Sequence[Release], now: int, aligned: Aligned | None = None) -> Sequence[Refused]:
        """As it is."""
        with self._lock:
            return super().send(releases, now, aligned)

    def receive(self, limit: int = 10) -> Sequence[QueueMessage]:
        """As it is."""
        with self._lock:
            return super().receive(limit)

    def delete(self, message_id: str) -> None:
        """As it is."""
        with self._lock:
            super().delete(message_id)

    def waiting(self) -> int:
        """As it is."""
        with self._lock:
            return super().waiting()


class Stack:
    """The work of a deployment, in threads: ticks and pollers, one deliverer for each environment, creates."""

    def __init__(self) -> None:
        self._clock = WallClock()
        memory = MemoryClockwork()
        memory.clients.put(CLIENT)
        self._invoker = memory.invoker
        settings = memory.settings
        self._queue = SharedQueue(self._clock, settings)
        self.world = memory.world.with_(clock=self._clock, random=OsRandom(), releases=self._queue, backlog=self._queue)
        #: The adapters are made for one thread: creates and visits of shards take turns.
        self._lock = threading.Lock()
        self._free = threading.Semaphore(settings.deliverer_concurrency)
        self._idle = [self._environment(number) for number in range(settings.deliverer_concurrency)]
        self._deliverers = ThreadPoolExecutor(settings.deliverer_concurrency)

    def run(self) -> None:
        """Start the threads; the first tick is over when this returns."""
        self._tick()
        for work, seconds in ((self._tick, self.world.settings.tick_seconds), (self._hand_out, WAKE_SECONDS)):
            threading.Thread(target=_again_and_again, args=(work, seconds), daemon=True).start()

    def create(self, jobs: Sequence[Job], together: bool) -> None:
        """Accept jobs, all recorded in full: one a request, or 500."""
        if together:
            for some in batches(jobs, LARGEST_REQUEST):
                self._create(some)
        else:
            one_by_one(lambda one: self._create([one]), jobs)

    def _create(self, jobs: Sequence[Job]) -> None:
        new = tuple(
            NewJob(index=index, target=HttpTarget(url, private=True), payload=Payload(b'{"hello":"world"}'), at=due_at)
            for index, (url, due_at) in enumerate(jobs)
        )
        with self._lock:
            create_jobs(self.world, CreateRequest(client=CLIENT, jobs=new), ensure_shards(self.world))
            asked = {*self._invoker.asked, *self._invoker.successors}
            self._invoker.asked.clear()
            self._invoker.successors.clear()
        for partition_id in asked:
            self._poll(partition_id)

    def _tick(self) -> None:
        with self._lock:
            partitions = ensure_shards(self.world)
        for partition_id in partitions:
            self._poll(partition_id)

    def _poll(self, partition_id: str) -> None:
        with self._lock:
            poll_shard(self.world, partition_id, self._clock.now() + self.world.settings.poller_timeout_seconds * 1_000)

    def _hand_out(self) -> None:
        """Give every environment that is free a batch, as long as messages are visible."""
        while self._free.acquire(blocking=False):
            messages = [Message(one.message_id, one.body, one.receive_count) for one in self._queue.receive()]
            if not messages:
                self._free.release()
                return
            self._deliverers.submit(self._deliver, messages)

    def _deliver(self, messages: Sequence[Message]) -> None:
        world = self._idle.pop()
        try:
            deadline_at = self._clock.now() + world.settings.deliverer_timeout_seconds * 1_000
            failed = deliver_batch(world, messages, deadline_at).failed_messages
            for message in messages:
                if message.message_id not in failed:
                    self._queue.delete(message.message_id)
        except Exception:  # noqa: BLE001 - the messages come back, as those of a Lambda that raises; the log says why
            traceback.print_exc()
        finally:
            self._idle.append(world)
            self._free.release()

    def _environment(self, number: int) -> World:
        targets = ThreadedTargets({HttpTarget: HttpTransport(self._clock, NoSecrets())}, self._clock)
        return self.world.with_(targets=targets, environment=Environment(name=f"environment-{number}"))


def _again_and_again(work: Callable[[], object], seconds: float) -> None:
    while True:
        time.sleep(seconds)
        work()


if __name__ == "__main__":
    stack = Stack()
    stack.run()
    serve(stack.create)
