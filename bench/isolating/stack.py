"""Poison on the real adapters: tables and queues on the emulator, with poller and deliverers in this process.

Time is virtual: the clock goes to the instant at which a message is due. The queue hands messages over in batches of
ten, in no order. A message that fails comes back until it has been received too often, as the event source does it.
"""

from __future__ import annotations

import random
from collections import Counter, deque

from bench.arrivals.shared import MOST_RECEIVES
from bench.billing.event_source import BATCH
from bench.billing.scheduler import created_resources, forgetful_session
from bench.isolating.poisons import GARBAGE_MESSAGE, ODD, Poison, garbage_rows
from bench.isolating.scenes import OTHERS, Seen, create_all, jobs_of
from clockwork.aws.session import Aws
from clockwork.bootstrap import aws_world
from clockwork.domain.executions import State
from clockwork.domain.storage.codec import decode_message
from clockwork.flows.deliver.deliver import deliver_batch
from clockwork.flows.deliver.inbox import Message
from clockwork.flows.poll.shard import poll_shard
from clockwork.flows.timeline.shards import ensure_shards
from clockwork.flows.world import World
from clockwork.memory.clock import MemoryClock
from clockwork.memory.targets import MemoryTargets
from clockwork.settings import Settings
from local.emulator import Credentials, Emulator

START_MS = 1_800_000_000_000
LEAD_MS = 180_000
EACH, SHARDS = 12, 2
#: No scene takes more batches: beyond that something is handed round for ever.
MOST_BATCHES = 2_000


def among_poison(running: Emulator, account: Credentials, poison: Poison, each: int = EACH) -> Seen:
    """Figures of the others' jobs while the odd client's work is poison; `each` client has so many jobs.

    It tells no lateness, since a call takes no virtual time.
    """
    settings = created_resources(running, account, shards=SHARDS, ordered_shards=0)
    aws = Aws(forgetful_session(account), endpoint_url=running.endpoint_url)
    try:
        clock = MemoryClock(START_MS)
        targets = MemoryTargets(clock)
        world = aws_world(settings, aws).with_(clock=clock, targets=poison.targets(targets))
        return _Scene(world, targets, aws, settings).run(poison, each)
    finally:
        aws.close()


class _Scene:
    """One run on one account of the emulator."""

    def __init__(self, world: World, targets: MemoryTargets, aws: Aws, settings: Settings) -> None:
        self._world, self._targets = world, targets
        self._sqs, self._url = aws.client("sqs"), settings.release_queue_url
        self._rng = random.Random(1)
        self._waiting: deque[tuple[str, int]] = deque()

    def run(self, poison: Poison, each: int) -> Seen:
        at = self._world.clock.now() + LEAD_MS
        dues = [at + place for place in range(each)]
        made = [one for client_id in OTHERS for one in create_all(self._world, jobs_of(client_id, dues))]
        create_all(self._world, jobs_of(ODD, dues, poison.url))
        partitions = ensure_shards(self._world)
        for partition_id in partitions:
            self._world.timeline.put(poison.rows(partition_id, at, each))
        if poison.garbage:
            for partition_id in partitions:
                self._world.timeline.put(garbage_rows(partition_id, at, each))
            self._waiting.extend((GARBAGE_MESSAGE, 1) for _ in range(each))
        with poison.acting(self._world):
            for partition_id in partitions:
                poll_shard(self._world, partition_id, self._world.clock.now() + 60_000)
            self._deliver_all()
        return self._seen(made)

    def _deliver_all(self) -> None:
        for _ in range(MOST_BATCHES):
            self._fetch()
            if not self._waiting:
                return
            batch = [self._waiting.popleft() for _ in range(min(BATCH, len(self._waiting)))]
            messages = [Message(str(number), body, count) for number, (body, count) in enumerate(batch)]
            self._world.clock.hold_until(max(map(_due_at, messages)))
            deadline_at = self._world.clock.now() + self._world.settings.deliverer_timeout_seconds * 1000
            try:
                failed = deliver_batch(self._world, messages, deadline_at).failed_messages
            except Exception:  # noqa: BLE001 - an invocation that raises has failed, and all its messages come back
                failed = [message.message_id for message in messages]
            again = (batch[int(message_id)] for message_id in failed)
            self._waiting.extend((body, count + 1) for body, count in again if count < MOST_RECEIVES)
        raise RuntimeError(f"{len(self._waiting)} messages are left after {MOST_BATCHES} batches")

    def _fetch(self) -> None:
        """Take over all messages that were sent, in no order."""
        sent: list[tuple[str, int]] = []
        while messages := self._sqs.receive_message(QueueUrl=self._url, MaxNumberOfMessages=BATCH).get("Messages"):
            entries = [{"Id": str(n), "ReceiptHandle": one["ReceiptHandle"]} for n, one in enumerate(messages)]
            self._sqs.delete_message_batch(QueueUrl=self._url, Entries=entries)
            sent += [(message["Body"], 1) for message in messages]
        if sent:
            self._waiting.extend(sent)
            self._rng.shuffle(self._waiting)

    def _seen(self, made: list[str]) -> Seen:
        """Lost is what its record does not show as SUCCEEDED, and a duplicate each further delivery of an execution."""
        delivered = Counter(one.execution_id for one in self._targets.delivered)
        lost = sum(not self._has_succeeded(execution_id) for execution_id in made)
        return Seen([], lost, sum(max(0, delivered[execution_id] - 1) for execution_id in made))

    def _has_succeeded(self, execution_id: str) -> bool:
        stored = self._world.executions.find(execution_id.partition(".")[0], execution_id)
        return stored is not None and stored.state is State.SUCCEEDED


def _due_at(message: Message) -> int:
    """When the message is due; a body that cannot be decoded at once."""
    return 0 if message.body == GARBAGE_MESSAGE else min(one.run_at for one in decode_message(message.body))
