"""Workers of pools inside a test: handlers run inline, in virtual time, over the routes that real workers call.

An attempt holds a slot of its worker for as long as its fleet says. Its handler runs at the end of that time, in one
go. Until then the worker sends the heartbeats that a real one sends.
"""

from __future__ import annotations

import asyncio
import inspect
import secrets
import threading
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from math import ceil
from typing import Any

from clockwork.memory.release_queue import MemoryReleaseQueue
from clockwork.memory.world import MemoryClockwork
from clockwork_client.client import Clockwork
from clockwork_client.testing.deliveries import moment
from clockwork_client.testing.steps import Began, Steps
from clockwork_client.worker.attempt import Attempt
from clockwork_client.worker.beats import BEATS_PER_LEASE
from clockwork_client.worker.calls import Calls
from clockwork_client.worker.context import Context
from clockwork_client.worker.draws import OVERFLOW, WEIGHTS, QueueDraws
from clockwork_client.worker.handlers import outcome_of, result_of
from clockwork_client.worker.pool import Pool

#: How long an attempt holds its slot: seconds or a timedelta, for all, or by its payload.
Takes = float | timedelta | Callable[[Any], "float | timedelta"]
#: Instants in seconds are floats, and the virtual time has whole milliseconds: so far (s) apart, they are one.
_ROUNDING = 1e-6


class VirtualSeconds:
    """The clock of a worker (`clockwork_client.worker.clock.Clock`) on the virtual time."""

    def __init__(self, core: MemoryClockwork) -> None:
        self._core = core

    def now(self) -> float:
        """Seconds."""
        return self._core.clock.at / 1000

    def wait(self, event: threading.Event, seconds: float) -> bool:
        """Let time pass."""
        self.sleep(seconds)
        return event.is_set()

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        self._core.clock.at += round(seconds * 1000)


@dataclass
class _Open:
    """An attempt that holds a slot, until an instant (s)."""

    attempt: Attempt
    worker: int
    ends_at: float

    def wakes_at(self) -> float:
        """When its worker has something to do for it: a heartbeat, or its end."""
        beats_at = self.attempt.beaten_at + self.attempt.lease_seconds / BEATS_PER_LEASE
        return min(self.ends_at, beats_at, self.attempt.deadline_at)


@dataclass
class Fleet:
    """The workers of a pool: so many, each with so many slots."""

    pool: Pool
    calls: Calls
    draws: QueueDraws
    workers: int
    concurrency: int
    takes: Takes
    open: list[_Open] = field(default_factory=list)
    is_drained: bool = False

    def free_worker(self) -> int | None:
        """The worker with the most free slots; None if none is free, or the fleet was drained."""
        held = [sum(one.worker == number for one in self.open) for number in range(self.workers)]
        number = min(range(self.workers), key=held.__getitem__)
        return None if self.is_drained or held[number] >= self.concurrency else number

    def slots_of(self, number: int) -> dict[str, Any]:
        """The slots of a worker, as it tells them with its claims."""
        held: dict[str, int] = {}
        for one in self.open:
            if one.worker == number:
                held[one.attempt.client_id] = held.get(one.attempt.client_id, 0) + 1
        return {"count": self.concurrency, "held": held}

    def seconds_of(self, payload: Any) -> float:
        """How long an attempt with this payload lasts (s)."""
        takes = self.takes(payload) if callable(self.takes) else self.takes
        return takes.total_seconds() if isinstance(takes, timedelta) else float(takes)


class InlineWorkers:
    """The fleets of the pools that a test works for."""

    def __init__(self, core: MemoryClockwork, steps: Steps) -> None:
        self._core = core
        self._clock = VirtualSeconds(core)
        self._steps = steps
        self._fleets: dict[str, Fleet] = {}

    def add(self, pool: Pool, cw: Clockwork, workers: int, concurrency: int, takes: Takes) -> None:
        """Work for a pool from now on, as the principal of this Clockwork. A fleet before it goes on with its work."""
        if workers < 1 or concurrency < 1:
            raise ValueError("a fleet has one worker at least, and each of them one slot")
        draws = QueueDraws([name for name, _ in self._queues(pool.name)])
        before = self._fleets.get(pool.name)
        still = [] if before is None else before.open
        self._fleets[pool.name] = Fleet(pool, Calls(cw._caller, pool.name), draws, workers, concurrency, takes, still)

    def drain(self, pool: str) -> int:
        """Hand back the running attempts of a pool, and take no more; returns how many there were."""
        fleet = self._fleets[pool]
        fleet.is_drained, handed_back = True, fleet.open
        fleet.open = []
        for one in handed_back:
            one.attempt.end("the worker has handed it back")
            fleet.calls.report([{"token": one.attempt.token, "outcome": "handback"}])
        return len(handed_back)

    def next_at(self) -> Iterator[int]:
        """When (ms) tickets that wait become visible, or workers have something to do for what they hold."""
        for fleet in self._fleets.values():
            yield from (ceil((one.wakes_at() - _ROUNDING) * 1000) for one in fleet.open)
            if fleet.free_worker() is not None:
                visible = (queue.next_visible_at() for _, queue in self._queues(fleet.pool.name))
                yield from (at for at in visible if at is not None)

    def step(self) -> None:
        """End and renew what is due now, and take what is visible into free slots."""
        for fleet in self._fleets.values():
            for one in list(fleet.open):
                self._handle(fleet, one)
            while (worker := fleet.free_worker()) is not None and (name := self._drawn(fleet)) is not None:
                self._take(fleet, worker, name)

    def _queues(self, pool: str) -> Iterator[tuple[str, MemoryReleaseQueue]]:
        for name in (queue for priority in WEIGHTS for queue in (priority, priority + OVERFLOW)):
            if name in self._core.settings.pool_queue_urls[pool]:
                yield name, self._core.pool_queues.of(pool, name)

    def _drawn(self, fleet: Fleet) -> str | None:
        """The queue from which a free slot takes next; None if none has a visible ticket."""
        now = self._core.clock.at
        visible = ((name, queue.next_visible_at()) for name, queue in self._queues(fleet.pool.name))
        at_work = {name for name, at in visible if at is not None and at <= now}
        return fleet.draws.next(at_work) if at_work else None

    def _take(self, fleet: Fleet, worker: int, name: str) -> None:
        (message,) = self._core.pool_queues.of(fleet.pool.name, name).receive(1)
        sent_at = self._clock.now()
        claim = {"claimId": secrets.token_urlsafe(16), "ticket": message.body, "receiptHandle": message.message_id}
        handlers, slots = sorted(fleet.pool.handlers), fleet.slots_of(worker)
        (answer,) = fleet.calls.claim(f"virtual-{worker + 1}", handlers, [claim], slots)
        if answer["outcome"] != "start":
            fleet.draws.unstarted(name, 1)
            return
        fleet.draws.charge(name, 1)
        attempt = Attempt(answer, sent_at, self._clock.now())
        begins_at = max(attempt.start_at, self._clock.now())
        if attempt.run is not None and attempt.node is not None:
            began = moment(round(begins_at * 1000))
            self._steps.began.append(Began(attempt.run, attempt.node, attempt.number, began))
        one = _Open(attempt, worker, begins_at + fleet.seconds_of(attempt.payload))
        fleet.open.append(one)
        self._handle(fleet, one)

    def _handle(self, fleet: Fleet, one: _Open) -> None:
        now, attempt = self._clock.now() + _ROUNDING, one.attempt
        if not attempt.over and now < one.ends_at and not attempt.is_lost(now) and now >= one.wakes_at():
            self._beat(fleet, attempt)
        if attempt.over or attempt.is_lost(now):
            fleet.open.remove(one)
        elif attempt.cancel_requested or now >= one.ends_at:
            fleet.open.remove(one)
            self._end(fleet, attempt)

    def _beat(self, fleet: Fleet, attempt: Attempt) -> None:
        """Renew a claim, as a worker does."""
        sent_at = self._clock.now()
        (answer,) = fleet.calls.beat([{"token": attempt.token}], attempt.lease_seconds / BEATS_PER_LEASE)
        if answer["outcome"] == "stale":
            attempt.end("the API says that the claim is over")
            return
        attempt.renew(sent_at, answer["leaseInMs"])
        attempt.beaten_at = sent_at
        if answer.get("cancelRequested"):
            attempt.ask_to_cancel()

    def _end(self, fleet: Fleet, attempt: Attempt) -> None:
        context = Context(attempt, self._clock, fleet.calls)
        outcome = outcome_of(attempt, lambda: called(fleet.pool, attempt, context), self._clock)
        if outcome is not None:
            fleet.calls.report([{"token": attempt.token, **outcome}])


def called(pool: Pool, attempt: Attempt, context: Context) -> Any:
    """The return value of the attempt's handler. An awaitable is awaited, on a loop of its own."""
    result = result_of(pool, attempt, context)
    return asyncio.run(_awaited(result)) if inspect.isawaitable(result) else result


async def _awaited(result: Awaitable[Any]) -> Any:
    return await result
