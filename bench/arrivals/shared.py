"""Deliverers that clients share, in virtual time: `VirtualClockwork` whose queue fills batches as SQS does.

A deliverer that becomes free takes the ten messages that have been visible for longest, of any client. A backlog
therefore makes full batches, and no client's messages go before another's. A message that fails comes back after the
visibility timeout, and all messages of a deliverer that raises do, until they have been received too often.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from bench.arrivals.virtual import BATCH, HANDOVER_MS, TARGET_MS, Answering, VirtualClockwork
from clockwork.domain.releases import Delivery
from clockwork.flows.deliver.deliver import deliver_batch
from clockwork.flows.deliver.inbox import Message
from clockwork.flows.world import World
from clockwork.ports import Targets
from clockwork.settings import Settings

#: A message that came so often is not shown again: the dead-letter queue has it.
MOST_RECEIVES = 4


class Began(NamedTuple):
    """A delivery that one deliverer began at an instant (ms)."""

    deliverer: int
    delivery: Delivery
    at: int


class SharedDeliverers(VirtualClockwork):
    """A deployment in virtual time whose deliverers take the oldest visible messages, ten at a time.

    `begun` lists every delivery with the deliverer that began it.
    """

    def __init__(self, settings: Settings, seed: int, takes_ms: Answering = lambda _: TARGET_MS) -> None:
        self.begun: list[Began] = []
        #: Stands between the deliverers and the targets of those that begin their work from now on.
        self.answering: Callable[[Targets], Targets] = lambda targets: targets
        self._backlog: deque[tuple[str, int]] = deque()
        super().__init__(settings, seed, takes_ms)

    def show(self, body: str, at: int) -> None:
        """Let a message become visible at an instant (ms)."""
        self._loop.at(at, partial(self._take, [(body, 1)]))

    def _note(self, number: int, delivery: Delivery) -> None:
        super()._note(number, delivery)
        self.begun.append(Began(number, delivery, self.now))

    def _invoke(self, batch: list[str]) -> None:
        self._take([(body, 1) for body in batch])

    def _hand_over(self, at: int) -> None:
        bodies = self._visible.pop(at)
        self._rng.shuffle(bodies)
        for first in range(0, len(bodies), BATCH):
            some = [(body, 1) for body in bodies[first : first + BATCH]]
            self._loop.at(at + self._rng.randint(*HANDOVER_MS), partial(self._take, some))

    def _take(self, messages: list[tuple[str, int]]) -> None:
        self._backlog.extend(messages)
        if self._idle:
            world = self._idle.pop(self._rng.randrange(len(self._idle)))
            self._loop.spawn(lambda: self._deliver(world))

    def _deliver(self, world: World) -> None:
        answering = world.with_(targets=self.answering(world.targets))
        while self._backlog:
            taken = [self._backlog.popleft() for _ in range(min(BATCH, len(self._backlog)))]
            self.receives += len(taken)
            messages = [Message(str(number), body, count) for number, (body, count) in enumerate(taken)]
            try:
                deadline_at = self.now + world.settings.deliverer_timeout_seconds * 1000
                failed = deliver_batch(answering, messages, deadline_at).failed_messages
            except Exception:  # noqa: BLE001 - an invocation that raises has failed, and all its messages come back
                failed = [message.message_id for message in messages]
            again = [(body, count + 1) for body, count in (taken[int(one)] for one in failed) if count < MOST_RECEIVES]
            if again:
                visible_at = self.now + world.settings.visibility_seconds * 1000
                self._loop.at(visible_at, partial(self._take, again))
        self._idle.append(world)
