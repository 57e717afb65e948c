"""A whole Clockwork in memory, made in one call, for tests that see jobs accepted, released and delivered."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

from clockwork.domain import keys
from clockwork.domain.executions import Outcome
from clockwork.domain.releases import Delivery
from clockwork.flows.activity.note import note_counts
from clockwork.flows.deliver.deliver import deliver_batch
from clockwork.flows.deliver.inbox import Message
from clockwork.flows.deliver.items import DeliverReport
from clockwork.flows.deliver.ordered import OrderedMessage, deliver_ordered
from clockwork.flows.hardening import hardened
from clockwork.flows.poll.ordered_shard import poll_ordered_shard
from clockwork.flows.poll.shard import poll_shard
from clockwork.flows.poll.visit import PollReport
from clockwork.flows.timeline.shards import all_shards
from clockwork.flows.world import World
from clockwork.memory.clients import MemoryClients, MemoryKeyRows, MemoryPools, MemoryTicketKeys
from clockwork.memory.clock import MemoryClock, SeededRandom
from clockwork.memory.executions import (
    MemoryCheckpoints,
    MemoryExecutions,
    MemoryRuns,
    MemoryTurnstiles,
    MemoryWorkers,
)
from clockwork.memory.jobs import MemoryJobs
from clockwork.memory.ordered_queue import MemoryOrderedQueue
from clockwork.memory.outboxes import MemoryDeadLetters, MemoryNotices
from clockwork.memory.queue import MemoryQueue
from clockwork.memory.regulation import MemoryRegulation
from clockwork.memory.release_queue import MemoryPoolQueues, MemoryReleaseQueue
from clockwork.memory.requests import MemoryActivity, MemoryOperations, MemoryTrail
from clockwork.memory.shards import MemoryShards
from clockwork.memory.signing_secrets import MemorySigningSecrets
from clockwork.memory.targets import MemoryInvoker, MemoryTargets
from clockwork.memory.timeline import MemoryTimeline
from clockwork.ports.routing import Routed, by_order
from clockwork.settings import Settings


@dataclass
class MemoryClockwork:
    """All ports in memory, under one clock.

    `answer` decides the outcome of each attempt; by default every attempt succeeds. `aligned`: pollers wait for the
    instants of their grid, as the settings say; else a visit takes no time. `admins`: the principals of admins.
    """

    settings: Settings = field(default_factory=Settings.for_local)
    answer: Callable[[Delivery], Outcome] | None = None
    seed: int = 0
    aligned: bool = False
    admins: Sequence[str] = ()

    def __post_init__(self) -> None:
        if not self.aligned:
            self.settings = self.settings.with_(send_grid_ms=0)
        self.clock = MemoryClock()
        self.timeline = MemoryTimeline()
        self.shards = MemoryShards()
        self.jobs = MemoryJobs()
        self.executions = MemoryExecutions()
        visibility_ms = self.settings.visibility_seconds * 1000
        tolerance_ms = self.settings.late_tolerance_ms
        self.queue = MemoryReleaseQueue(self.clock, visibility_ms, self.settings.max_receive_count, tolerance_ms)
        self.ordered_queue = MemoryOrderedQueue(self.clock, visibility_ms, self.settings.ordered_max_receive_count)
        self.invoker = MemoryInvoker()
        self.targets = MemoryTargets(self.clock, self.answer)
        self.clients = MemoryClients(self.admins)
        self.pools = MemoryPools()
        self.checkpoints = MemoryCheckpoints()
        self.turnstiles = MemoryTurnstiles()
        self.runs = MemoryRuns()
        self.workers = MemoryWorkers()
        self.notices = MemoryNotices()
        self.regulation = MemoryRegulation(self.clock)
        self.trail = MemoryTrail()
        self.operations = MemoryOperations()
        self.activity = MemoryActivity()
        self.signing_secrets = MemorySigningSecrets()
        self.pool_queues = MemoryPoolQueues(self.clock, self.settings.pool_queue_urls)
        self.ticket_keys = MemoryTicketKeys()
        self.world = hardened(
            World(
                settings=self.settings,
                clock=self.clock,
                random=SeededRandom(self.seed),
                timeline=self.timeline,
                shards=self.shards,
                jobs=self.jobs,
                executions=self.executions,
                releases=Routed(by_order(self.queue, self.ordered_queue)),
                backlog=self.queue,
                dead_letters=MemoryDeadLetters(self.queue, self.ordered_queue, *self.pool_queues.all()),
                notices=self.notices,
                visibility=self.ordered_queue,
                invoker=self.invoker,
                targets=self.targets,
                clients=self.clients,
                pools=self.pools,
                checkpoints=self.checkpoints,
                turnstiles=self.turnstiles,
                runs=self.runs,
                workers=self.workers,
                key_rows=MemoryKeyRows(),
                regulation=self.regulation,
                trail=self.trail,
                operations=self.operations,
                activity=self.activity,
                signing_secrets=self.signing_secrets,
                pool_queues=self.pool_queues,
                ticket_keys=self.ticket_keys,
            )
        )

    def poll_all(self) -> list[PollReport]:
        """Visit every shard once; in an ordered shard this releases the occurrences that are due by now."""
        return [self.poll(shard.partition_id) for shard in all_shards(self.world)]

    def poll(self, partition_id: str) -> PollReport:
        """Visit one shard; the poller of an ordered shard does not stay for work that is near."""
        deadline_at = self.clock.now() + self.settings.poller_timeout_seconds * 1000
        if keys.is_ordered(partition_id):
            return poll_ordered_shard(self.world, partition_id, deadline_at, near_ms=0)
        return poll_shard(self.world, partition_id, deadline_at)

    def deliver_visible(self) -> DeliverReport:
        """Deliver one batch as Lambda's event source does: each message that did not fail is deleted."""
        messages = [Message(m.message_id, m.body, m.receive_count) for m in self.queue.receive()]
        return self._deliver(self.queue, messages, partial(deliver_batch, self.world, messages))

    def deliver_ordered(self) -> DeliverReport:
        """Deliver one batch of the ordered queue in the same way."""
        messages = [
            OrderedMessage(m.message_id, m.body, m.receive_count, receipt=m.receipt, group=m.group, sent_at=m.sent_at)
            for m in self.ordered_queue.receive()
        ]
        return self._deliver(self.ordered_queue, messages, partial(deliver_ordered, self.world, messages))

    def _deliver(
        self, queue: MemoryQueue, messages: Sequence[Message], deliver: Callable[[int], DeliverReport]
    ) -> DeliverReport:
        deadline_at = self.clock.now() + self.settings.deliverer_timeout_seconds * 1000
        report = deliver(deadline_at)
        for message in messages:
            if message.message_id not in report.failed_messages:
                queue.delete(message.message_id)
        note_counts(self.world, deadline_at)
        return report

    def run_until(self, at: int) -> None:
        """Let time pass until `at` (ms), and poll and deliver as Clockwork would.

        Every shard is polled with each tick, an ordered shard also when a row of it is due. A batch is delivered
        whenever a message is visible.
        """
        next_tick = self.clock.at
        while self.clock.at < at:
            if self.clock.at >= next_tick:
                self.poll_all()
                next_tick = self.clock.at + self.settings.tick_seconds * 1000
            due = self.ordered_due()
            for partition_id in [p for p, due_at in due.items() if due_at <= self.clock.at]:
                self.poll(partition_id)
            visible_at = self.queue.next_visible_at() or at
            ordered_at = self.ordered_queue.next_visible_at() or at
            if visible_at <= self.clock.at:
                self.deliver_visible()
            elif ordered_at <= self.clock.at:
                self.deliver_ordered()
            else:
                # A row that is due but could not be released is tried again with the next event.
                later = (due_at for due_at in self.ordered_due().values() if due_at > self.clock.at)
                self.clock.at = min(at, next_tick, visible_at, ordered_at, *later)

    def ordered_due(self) -> dict[str, int]:
        """When the next row of each ordered shard is due (ms); a shard without such a row is left out."""
        due = {}
        for partition_id, shard in self.shards.get([p for p in self.shards.list() if keys.is_ordered(p)]).items():
            rows = self.timeline.read(partition_id, shard.cursor, keys.END, 1).rows
            if rows:
                due[partition_id] = keys.instant_of(rows[0].key)
        return due
