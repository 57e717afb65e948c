"""A worker of the SDK in virtual time: its own receiving, claims and draws, with actors in place of threads.

Modelled are the times of calls, the handlers, each of which takes a slot for a while, and the report of each end. No
actor is interrupted between two calls that wait, so that locks are needed only around such calls.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from threading import Event
from typing import Any, Self
from unittest import mock

import msgspec

from bench.arrivals.virtual import Loop
from clockwork.domain.executions import State
from clockwork.domain.pools.pool import Pool
from clockwork.edge.responses.workers import ClaimAnswer
from clockwork.flows.pools.claim import Asked, claim_for
from clockwork.flows.pools.reports import Ended, report_all
from clockwork.flows.pools.sharing import Sharing
from clockwork.flows.requests.reporting import Reported
from clockwork.flows.world import World
from clockwork.memory.release_queue import MemoryReleaseQueue
from clockwork_client.worker import busy, desk, draws, pauses, receiving, slots
from clockwork_client.worker import sharing as shares
from clockwork_client.worker.attempt import Attempt
from clockwork_client.worker.claims import Claims
from clockwork_client.worker.desk import Desk
from clockwork_client.worker.queues import Ticket
from clockwork_client.worker.receiving import Receiving
from clockwork_client.worker.slots import Slots

#: Durations (ms), evenly distributed: a call of SQS, and a claim or a report at the API.
RECEIVE_MS, CALL_MS = (10, 30), (40, 120)
#: A long poll looks at its queue so often (ms).
LOOKS_EVERY_MS = 20
DONE = Reported(State.SUCCEEDED)


class Condition:
    """`threading.Condition` of actors."""

    def __init__(self, loop: Loop) -> None:
        self._loop = loop
        self._waiting: list[Callable[[], object]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing is held: no actor is interrupted."""

    def wait_for(self, predicate: Callable[[], Any], seconds: float | None = None) -> Any:
        """Wait until it holds, for so long at the most; what it says then."""
        ends_at = None if seconds is None else self._loop.clock.at + round(seconds * 1000)
        while not (held := predicate()) and (ends_at is None or self._loop.clock.at < ends_at):
            self._loop.park(partial(self._await, ends_at))
        return held

    def notify_all(self) -> None:
        """Wake all who wait."""
        waiting, self._waiting = self._waiting, []
        for wake in waiting:
            self._loop.at(self._loop.clock.at, wake)

    def _await(self, ends_at: int | None, wake: Callable[[], object]) -> None:
        self._waiting.append(wake)
        if ends_at is not None:
            self._loop.at(ends_at, wake)


class Lock:
    """`threading.Lock` of actors."""

    def __init__(self, loop: Loop) -> None:
        self._is_held = False
        self._changed = Condition(loop)

    def __enter__(self) -> None:
        self._changed.wait_for(lambda: not self._is_held)
        self._is_held = True

    def __exit__(self, *_: object) -> None:
        self._is_held = False
        self._changed.notify_all()


class Thread:
    """`threading.Thread` as an actor."""

    def __init__(self, loop: Loop, *, target: Callable[..., object], args: Sequence[Any] = (), **_: object) -> None:
        self._loop = loop
        self._work = partial(target, *args)

    def start(self) -> None:
        """Begin."""
        self._loop.spawn(self._work)


@contextmanager
def actors(loop: Loop) -> Iterator[None]:
    """Let what a worker makes here be actors of the loop."""
    with ExitStack() as patches:
        for module in (busy, desk, slots):
            patches.enter_context(mock.patch.object(module, "Condition", partial(Condition, loop)))
        for module in (draws, pauses, receiving, shares):
            patches.enter_context(mock.patch.object(module, "Lock", partial(Lock, loop)))
        patches.enter_context(mock.patch.object(receiving, "Thread", partial(Thread, loop)))
        yield


class Seconds:
    """The worker's clock."""

    def __init__(self, loop: Loop) -> None:
        self._loop = loop

    def now(self) -> float:
        """The instant."""
        return self._loop.clock.at / 1000

    def wait(self, event: Event, seconds: float) -> bool:
        """Let time pass."""
        self.sleep(seconds)
        return event.is_set()

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        self._loop.pause(max(1, round(seconds * 1000)))


class TimedQueue:
    """`Queue` on a queue in memory."""

    def __init__(self, queue: MemoryReleaseQueue, loop: Loop, rng: random.Random) -> None:
        self._queue, self._loop, self._rng = queue, loop, rng
        self.receives = self.received = 0

    def receive(self, most: int, wait_seconds: int) -> Sequence[Ticket]:
        """As `Queue` says."""
        self.receives += 1
        self._loop.pause(self._rng.randint(*RECEIVE_MS))
        ends_at = self._loop.clock.at + wait_seconds * 1000
        while not (found := self._queue.receive(most)) and self._loop.clock.at < ends_at:
            self._loop.pause(LOOKS_EVERY_MS)
        self.received += len(found)
        return [Ticket(one.body, one.message_id) for one in found]

    def give_back(self, tickets: Sequence[Ticket]) -> None:
        """As `Queue` says."""
        self._loop.pause(self._rng.randint(*RECEIVE_MS))
        for ticket in tickets:
            self._queue.hold(ticket.receipt_handle, 0)


class Process:
    """One worker process, whose handlers each take a slot for `takes_ms`. `ended` is called when an execution ends."""

    def __init__(
        self,
        loop: Loop,
        worlds: Sequence[World],
        pool: Pool,
        queues: Mapping[str, TimedQueue],
        count: int,
        takes_ms: Callable[[Attempt], int],
        ended: Callable[[str], object],
        rng: random.Random,
    ) -> None:
        self._loop, self._worlds, self._pool, self._rng = loop, worlds, pool, rng
        self._takes_ms, self._ended = takes_ms, ended
        clock, is_over = Seconds(loop), Event()
        self._slots = Slots(count)
        calls: Any = self
        identity = "virtual", list(pool.handlers)
        self._desk = Desk(4 * count)
        sharing = shares.Sharing(self._desk, count)
        claims = Claims(queues, calls, clock, is_over, self._slots, sharing, identity, self._start)
        self._receiving = Receiving(queues, claims, clock, is_over, self._slots, self._desk)

    def start(self) -> None:
        """Receive."""
        self._receiving.start()

    def stop(self) -> None:
        """Receive no more."""
        self._receiving.stop()

    def claim(
        self,
        worker_id: str,
        handlers: Sequence[str],
        claims: Sequence[Mapping[str, str]],
        told: Mapping[str, Any] | None,
    ) -> list[Any]:
        """`Calls.claim` at one of the API's environments."""
        self._loop.pause(self._rng.randint(*CALL_MS))
        world = self._rng.choice(self._worlds)
        asked = [Asked(one["claimId"], one["ticket"], one["receiptHandle"]) for one in claims]
        deadline_at = self._loop.clock.at + 29_000
        sharing = None if told is None else Sharing(worker_id, told["count"], told["held"])
        found = claim_for(world, self._pool, worker_id, handlers, asked, deadline_at, sharing)
        return [msgspec.json.decode(msgspec.json.encode(ClaimAnswer.of(one))) for one in found]

    def _start(self, attempt: Attempt) -> None:
        self._desk.put(attempt)
        ends_at = self._loop.clock.at + self._takes_ms(attempt)
        self._loop.at(ends_at, lambda: self._loop.spawn(partial(self._end, attempt)))

    def _end(self, attempt: Attempt) -> None:
        self._ended(attempt.execution_id)
        self._slots.give()
        self._loop.pause(self._rng.randint(*CALL_MS))
        report_all(self._rng.choice(self._worlds), self._pool, [Ended(attempt.token, DONE)])
        self._desk.drop(attempt)
