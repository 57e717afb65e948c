"""Deliverers that clients share, in virtual time: `VirtualClockwork` whose queue fills batches as SQS does.

A deliverer that becomes free takes the ten messages that have been visible for longest, whoever they belong to. So a
backlog makes full batches, and no client's messages go before another's.
"""

from __future__ import annotations

from collections import deque

from bench.arrivals.virtual import BATCH, HANDOVER_MS, TARGET_MS, Answering, VirtualClockwork
from clockwork.domain.releases import Delivery
from clockwork.flows.deliver.bundles import Message
from clockwork.flows.deliver.deliver import deliver_batch
from clockwork.flows.world import World
from clockwork.settings import Settings


class SharedDeliverers(VirtualClockwork):
    """A deployment in virtual time whose deliverers take the oldest visible messages, ten at a time."""

    def __init__(self, settings: Settings, seed: int, takes_ms: Answering = lambda _: TARGET_MS) -> None:
        self.held: list[tuple[int, str, int]] = []
        super().__init__(settings, seed, takes_ms)
        self._backlog: deque[str] = deque()

    def _environment(self, number: int) -> World:
        """A deliverer that also notes which of its deliveries it began, in `held`."""
        world = super()._environment(number)
        note = world.targets._note  # type: ignore[attr-defined]

        def noted(delivery: Delivery) -> None:
            note(delivery)
            self.held.append((number, delivery.occurrence.client_id, self.now))

        world.targets._note = noted  # type: ignore[attr-defined]
        return world

    def _hand_over(self, at: int) -> None:
        bodies = self._visible.pop(at)
        self._rng.shuffle(bodies)
        for first in range(0, len(bodies), BATCH):
            some = bodies[first : first + BATCH]
            self._loop.at(at + self._rng.randint(*HANDOVER_MS), lambda some=some: self._invoke(some))  # type: ignore[misc]

    def _invoke(self, batch: list[str]) -> None:
        self._backlog.extend(batch)
        if self._idle:
            world = self._idle.pop(self._rng.randrange(len(self._idle)))
            self._loop.spawn(lambda: self._deliver(world))

    def _deliver(self, world: World) -> None:
        while self._backlog:
            bodies = [self._backlog.popleft() for _ in range(min(BATCH, len(self._backlog)))]
            self.receives += len(bodies)
            messages = [Message(str(number), body) for number, body in enumerate(bodies)]
            report = deliver_batch(world, messages, self.now + world.settings.deliverer_timeout_seconds * 1000)
            if report.failed_messages:
                raise RuntimeError(f"{len(report.failed_messages)} messages failed, though nothing fails here")
        self._idle.append(world)
