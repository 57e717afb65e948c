"""Workers of pools inside a test: handlers run inline, in virtual time, over the routes that real workers call."""

from __future__ import annotations

import asyncio
import inspect
import secrets
import threading
from collections.abc import Awaitable, Iterator
from typing import Any

from clockwork.memory.queue import Message
from clockwork.memory.release_queue import MemoryReleaseQueue
from clockwork.memory.world import MemoryClockwork
from clockwork_client.client import Clockwork
from clockwork_client.testing.deliveries import moment
from clockwork_client.testing.steps import Began, Steps
from clockwork_client.worker.attempt import Attempt
from clockwork_client.worker.calls import MOST_CLAIMS, Calls
from clockwork_client.worker.context import Context
from clockwork_client.worker.draws import OVERFLOW, WEIGHTS
from clockwork_client.worker.handlers import outcome_of, result_of
from clockwork_client.worker.pool import Pool

#: The slots of an inline worker, as it tells them: its only one is free.
ONE_SLOT = {"count": 1, "held": {}}


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


class InlineWorkers:
    """The workers of the pools that a test works for: one each, with one slot."""

    def __init__(self, core: MemoryClockwork, steps: Steps) -> None:
        self._core = core
        self._steps = steps
        self._pools: dict[str, tuple[Pool, Calls]] = {}

    def add(self, pool: Pool, cw: Clockwork) -> None:
        """Work for a pool from now on, as the principal of this Clockwork."""
        self._pools[pool.name] = (pool, Calls(cw._caller, pool.name))

    def next_at(self) -> Iterator[int]:
        """When (ms) tickets that wait become visible."""
        for _, _, queue in self._queues():
            visible_at = queue.next_visible_at()
            if visible_at is not None:
                yield visible_at

    def step(self) -> None:
        """Do the work that is visible now, high before normal before low."""
        for pool, calls, queue in self._queues():
            if messages := queue.receive(MOST_CLAIMS):
                self._work(pool, calls, messages)

    def _queues(self) -> Iterator[tuple[Pool, Calls, MemoryReleaseQueue]]:
        for pool, calls in self._pools.values():
            for name in (queue for priority in WEIGHTS for queue in (priority, priority + OVERFLOW)):
                if name in self._core.settings.pool_queue_urls[pool.name]:
                    yield pool, calls, self._core.pool_queues.of(pool.name, name)

    def _work(self, pool: Pool, calls: Calls, messages: Any) -> None:
        for message in messages:
            clock = VirtualSeconds(self._core)
            sent_at = clock.now()
            (answer,) = calls.claim("virtual", sorted(pool.handlers), [_claim(message)], ONE_SLOT)
            if answer["outcome"] != "start":
                continue
            attempt = Attempt(answer, sent_at, clock.now())
            clock.sleep(max(0.0, attempt.start_at - clock.now()))
            self._note(attempt)
            context = Context(attempt, clock, calls)
            outcome = outcome_of(attempt, lambda: called(pool, attempt, context), clock)  # noqa: B023 - called at once
            if outcome is not None:
                calls.report([{"token": attempt.token, **outcome}])

    def _note(self, attempt: Attempt) -> None:
        if attempt.run is not None and attempt.node is not None:
            self._steps.began.append(Began(attempt.run, attempt.node, attempt.number, moment(self._core.clock.at)))


def called(pool: Pool, attempt: Attempt, context: Context) -> Any:
    """The return value of the attempt's handler. An awaitable is awaited, on a loop of its own."""
    result = result_of(pool, attempt, context)
    return asyncio.run(_awaited(result)) if inspect.isawaitable(result) else result


async def _awaited(result: Awaitable[Any]) -> Any:
    return await result


def _claim(message: Message) -> dict[str, str]:
    return {"claimId": secrets.token_urlsafe(16), "ticket": message.body, "receiptHandle": message.message_id}
