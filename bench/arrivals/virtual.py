"""Runs the shipped flows in virtual time, with many deliverer environments at work at once.

Only two things are modelled: how long each call takes, and how Lambda hands messages over. The code is the deployed
one, on the adapters in memory. Each environment is a greenlet, which switches to the others wherever it would wait.
"""

from __future__ import annotations

import heapq
import itertools
import random
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from greenlet import getcurrent, greenlet

from clockwork.domain.executions import Outcome, State
from clockwork.domain.releases import Delivery
from clockwork.flows.deliver.deliver import deliver_batch
from clockwork.flows.deliver.inbox import Message
from clockwork.flows.hardening import hardened_releases
from clockwork.flows.poll.shard import poll_shard
from clockwork.flows.timeline.shards import ensure_shards
from clockwork.flows.world import Environment, World
from clockwork.memory.clock import MemoryClock, SeededRandom
from clockwork.memory.release_queue import MemoryReleaseQueue
from clockwork.memory.world import MemoryClockwork
from clockwork.settings import Settings

#: Durations, ms, evenly distributed: a write or read of DynamoDB, a send to SQS, and a target's answer. The last one is
#: the time from a message's visibility to the start of its invocation.
STORE_MS = (5, 10)
SEND_MS = (10, 20)
TARGET_MS = (20, 50)
HANDOVER_MS = (16, 100)
#: Messages of one invocation.
BATCH = 10
#: Between which durations (ms) the answer to a delivery takes.
Answering = Callable[[Delivery], tuple[int, int]]


class Loop:
    """The event loop of virtual time (ms)."""

    def __init__(self, clock: MemoryClock) -> None:
        self.clock = clock
        self._hub = getcurrent()
        self._numbers = itertools.count()
        self._queue: list[tuple[int, int, Callable[[], object]]] = []

    def at(self, at: int, happen: Callable[[], object]) -> None:
        """Call `happen` at an instant; an instant in the past means now."""
        heapq.heappush(self._queue, (max(at, self.clock.at), next(self._numbers), happen))

    def spawn(self, work: Callable[[], object]) -> None:
        """Start an actor now: a greenlet that does the work and may pause."""
        actor = greenlet(work, self._hub)
        self.at(self.clock.at, actor.switch)

    def pause(self, ms: int) -> None:
        """Let time pass for the actor that is at work now."""
        self.at(self.clock.at + ms, getcurrent().switch)
        self._hub.switch()

    def park(self, hand_over: Callable[[Callable[[], object]], object]) -> None:
        """Stop the actor that is at work now until what `hand_over` gets is called; further calls do nothing."""
        actor, is_awake = getcurrent(), False

        def wake() -> None:
            nonlocal is_awake
            if not is_awake:
                is_awake = True
                actor.switch()

        hand_over(wake)
        self._hub.switch()

    def run(self) -> None:
        """Run until no event is left."""
        while self._queue:
            at, _, happen = heapq.heappop(self._queue)
            self.clock.at = at
            happen()


class _Clock:
    """`ports.Clock` of one actor."""

    def __init__(self, loop: Loop) -> None:
        self._loop = loop

    def now(self) -> int:
        return self._loop.clock.at

    def hold_until(self, at: int) -> None:
        if at > self._loop.clock.at:
            self._loop.pause(at - self._loop.clock.at)


class _Timed:
    """A port whose calls each take a while before they act."""

    def __init__(self, inner: Any, loop: Loop, rng: random.Random, takes_ms: tuple[int, int]) -> None:
        self._inner, self._loop, self._rng, self._takes_ms = inner, loop, rng, takes_ms

    def __getattr__(self, name: str) -> Callable[..., Any]:
        inner = getattr(self._inner, name)

        def call(*args: Any) -> Any:
            self._loop.pause(self._rng.randint(*self._takes_ms))
            return inner(*args)

        self.__dict__[name] = call
        return call


class _Targets:
    """`ports.Targets` of one environment: all deliveries of a batch run at once, and each takes a while.

    `note` is called with every delivery when it begins; `takes_ms` says between which durations its answer takes.
    """

    def __init__(self, loop: Loop, rng: random.Random, note: Callable[[Delivery], object], takes_ms: Answering) -> None:
        self._loop, self._rng, self._note, self._takes_ms = loop, rng, note, takes_ms
        self._running: list[tuple[int, int, int]] = []

    def forget(self) -> None:
        self._running.clear()

    def begin(self, slot: int, delivery: Delivery) -> None:
        self._note(delivery)
        now = self._loop.clock.at
        heapq.heappush(self._running, (now + self._rng.randint(*self._takes_ms(delivery)), slot, now))

    def collect(self) -> Sequence[tuple[int, Outcome]]:
        if not self._running:
            return ()
        _Clock(self._loop).hold_until(self._running[0][0])
        ended = []
        while self._running and self._running[0][0] <= self._loop.clock.at:
            at, slot, began_at = heapq.heappop(self._running)
            ended.append((slot, Outcome(State.SUCCEEDED, began_at, at, status_code=200)))
        return ended


class _Queue(MemoryReleaseQueue):
    """A release queue that reports when a message becomes visible, and keeps none, since nothing fails here."""

    def __init__(self, loop: Loop, visible: Callable[[int, str], object]) -> None:
        super().__init__(loop.clock)
        self._loop, self._visible = loop, visible

    def put(self, body: str, delay: int = 0) -> str:
        message_id = f"m{next(self._numbers)}"
        self._visible(self._loop.clock.at + delay * 1000, body)
        return message_id


class VirtualClockwork:
    """A deployment in virtual time. `began` lists every delivery with the instant at which it began."""

    def __init__(self, settings: Settings, seed: int, takes_ms: Answering = lambda _: TARGET_MS) -> None:
        self._takes_ms = takes_ms
        self.clockwork = MemoryClockwork(settings=settings)
        self.began: list[tuple[Delivery, int]] = []
        self.receives = 0
        self._loop = Loop(self.clockwork.clock)
        self._rng = random.Random(seed)
        self._visible: dict[int, list[str]] = {}
        self._batches: deque[list[str]] = deque()
        self._queue = _Queue(self._loop, self._appear)
        self.world = self.clockwork.world.with_(
            releases=hardened_releases(self.clockwork.world, self._queue),
            random=SeededRandom(seed),
        )
        self._idle = [self._environment(number) for number in range(settings.deliverer_concurrency)]

    @property
    def now(self) -> int:
        """The virtual instant (ms)."""
        return self._loop.clock.at

    def at(self, at: int, work: Callable[[], object]) -> None:
        """Do something at an instant (ms), as a client or an operator does it."""
        self._loop.at(at, work)

    def run(self, ticks: int) -> None:
        """Start this many ticks, a minute apart, and run until nothing is left to do."""
        for tick in range(ticks):
            self._loop.at(self.now + tick * self.world.settings.tick_seconds * 1000, self._tick)
        self._loop.run()

    def _tick(self) -> None:
        for partition_id in ensure_shards(self.clockwork.world):
            self._loop.spawn(lambda partition_id=partition_id: self._poll(partition_id))  # type: ignore[misc]

    def _poll(self, partition_id: str) -> None:
        deadline_at = self.now + self.world.settings.poller_timeout_seconds * 1000
        report = poll_shard(self._timed(self.world), partition_id, deadline_at)
        if report.outcome not in ("dry", "no_lease"):
            raise RuntimeError(f"the poller of {partition_id} stopped: {report.outcome}")

    def _timed(self, world: World) -> World:
        store: dict[str, Any] = {
            name: _Timed(getattr(world, name), self._loop, self._rng, STORE_MS)
            for name in ("timeline", "shards", "executions", "jobs", "regulation")
        }
        sends = _Timed(world.releases, self._loop, self._rng, SEND_MS)
        return world.with_(clock=_Clock(self._loop), releases=sends, **store)

    def _environment(self, number: int) -> World:
        targets = _Targets(self._loop, self._rng, lambda delivery: self._note(number, delivery), self._takes_ms)
        return self._timed(self.world).with_(targets=targets, environment=Environment(name=f"environment-{number}"))

    def _note(self, _number: int, delivery: Delivery) -> None:
        """Note a delivery that the environment with this number begins."""
        self.began.append((delivery, self.now))

    def _appear(self, at: int, body: str) -> None:
        if at not in self._visible:
            self._visible[at] = []
            self._loop.at(at, lambda: self._hand_over(at))
        self._visible[at].append(body)

    def _hand_over(self, at: int) -> None:
        """Send the messages that become visible now out in batches, in no order, each batch some time later."""
        bodies = self._visible.pop(at)
        self._rng.shuffle(bodies)
        for first in range(0, len(bodies), BATCH):
            batch = bodies[first : first + BATCH]
            self._loop.at(at + self._rng.randint(*HANDOVER_MS), lambda batch=batch: self._invoke(batch))  # type: ignore[misc]

    def _invoke(self, batch: list[str]) -> None:
        self._batches.append(batch)
        if self._idle:
            world = self._idle.pop(self._rng.randrange(len(self._idle)))
            self._loop.spawn(lambda: self._deliver(world))

    def _deliver(self, world: World) -> None:
        """Deliver in one environment, batch after batch, until no batch is left."""
        while self._batches:
            bodies = self._batches.popleft()
            self.receives += len(bodies)
            messages = [Message(str(number), body) for number, body in enumerate(bodies)]
            report = deliver_batch(world, messages, self.now + world.settings.deliverer_timeout_seconds * 1000)
            if report.failed_messages:
                raise RuntimeError(f"{len(report.failed_messages)} messages failed, though nothing fails here")
        self._idle.append(world)
