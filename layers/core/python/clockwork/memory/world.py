"""A whole Clockwork in memory: one call for tests that want to see jobs accepted, released and delivered."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from clockwork.domain.executions import Outcome
from clockwork.domain.releases import Delivery
from clockwork.flows.batch import DeliverReport
from clockwork.flows.deliver import deliver_batch
from clockwork.flows.poll import PollReport, poll_shard
from clockwork.flows.registry import ensure_shards
from clockwork.flows.unbundle import Message
from clockwork.flows.world import World
from clockwork.memory.clients import MemoryClients, MemoryKeyRows
from clockwork.memory.clock import MemoryClock, SeededChance
from clockwork.memory.dead_letters import MemoryDeadLetters
from clockwork.memory.executions import MemoryExecutions
from clockwork.memory.jobs import MemoryJobs
from clockwork.memory.regulation import MemoryRegulation
from clockwork.memory.release_queue import MemoryReleaseQueue
from clockwork.memory.shards import MemoryShards
from clockwork.memory.targets import MemoryInvoker, MemoryTargets
from clockwork.memory.timeline import MemoryTimeline
from clockwork.settings import Settings


@dataclass
class MemoryClockwork:
    """All ports in memory under one clock. `answer` decides what a target says; by default it accepts."""

    settings: Settings = field(default_factory=Settings.for_local)
    answer: Callable[[Delivery], Outcome] | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        self.clock = MemoryClock()
        self.timeline = MemoryTimeline()
        self.shards = MemoryShards()
        self.jobs = MemoryJobs()
        self.executions = MemoryExecutions()
        self.queue = MemoryReleaseQueue(
            self.clock, self.settings.visibility_seconds * 1000, self.settings.max_receive_count
        )
        self.invoker = MemoryInvoker()
        self.targets = MemoryTargets(self.clock, self.answer)
        self.clients = MemoryClients()
        self.regulation = MemoryRegulation()
        self.world = World(
            settings=self.settings,
            clock=self.clock,
            chance=SeededChance(self.seed),
            timeline=self.timeline,
            shards=self.shards,
            jobs=self.jobs,
            executions=self.executions,
            releases=self.queue,
            dead_letters=MemoryDeadLetters(self.queue),
            invoker=self.invoker,
            targets=self.targets,
            clients=self.clients,
            key_rows=MemoryKeyRows(),
            regulation=self.regulation,
        )

    def poll_all(self) -> list[PollReport]:
        """One visit to every shard."""
        deadline_at = self.clock.now() + self.settings.poller_timeout_seconds * 1000
        return [poll_shard(self.world, partition_id, deadline_at) for partition_id in ensure_shards(self.world)]

    def deliver_visible(self) -> DeliverReport:
        """One batch of the deliverer, as Lambda's event source runs it: what did not fail is deleted."""
        received = self.queue.receive()
        messages = [Message(message.message_id, message.body, message.receive_count) for message in received]
        deadline_at = self.clock.now() + self.settings.deliverer_timeout_seconds * 1000
        report = deliver_batch(self.world, messages, deadline_at)
        for message in messages:
            if message.message_id not in report.failed_messages:
                self.queue.delete(message.message_id)
        return report

    def run_until(self, at: int) -> None:
        """Let time pass until `at` (ms): a poll of every shard each tick, a delivery whenever a message is visible."""
        next_tick = self.clock.at
        while self.clock.at < at:
            if self.clock.at >= next_tick:
                self.poll_all()
                next_tick = self.clock.at + self.settings.tick_seconds * 1000
            visible_at = self.queue.next_visible_at()
            if visible_at is not None and visible_at <= self.clock.at:
                self.deliver_visible()
                continue
            self.clock.at = min(at, next_tick, visible_at if visible_at is not None else at)
