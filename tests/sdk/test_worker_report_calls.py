"""How many calls tell a worker's outcomes at once, and when one that failed is made again."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import pytest

from clockwork_client.errors import Invalid, NotAllowed, NotCertain, TooManyRequests
from clockwork_client.worker import Pool
from clockwork_client.worker.attempt import Attempt
from clockwork_client.worker.busy import FETCHES_AT_ONCE
from clockwork_client.worker.clock import Clock, Monotonic
from clockwork_client.worker.desk import Desk
from clockwork_client.worker.reports import Reports
from tests.sdk.fleet import PATIENCE, Fleet, VirtualClock
from tests.sdk.workshop import ended, told, worker_of, working


class Scripted:
    """Takes outcomes, after the errors given. `times` is when each call came, and `sizes` how many it had."""

    def __init__(self, clock: Clock, *errors: Exception) -> None:
        self._clock = clock
        self.errors = list(errors)
        self.times: list[float] = []
        self.sizes: list[int] = []
        self.meet: Any = lambda: None

    def report(self, outcomes: Sequence[Mapping[str, Any]]) -> list[dict[str, str]]:
        self.times.append(self._clock.now())
        self.sizes.append(len(outcomes))
        self.meet()
        if self.errors:
            raise self.errors.pop(0)
        return [{"outcome": "ok"} for _ in outcomes]


class Telling:
    """Reports of so many attempts, each of which has a claim for so long."""

    def __init__(self, clock: Clock, calls: Scripted, count: int = 1, lease: float = 900.0) -> None:
        self.desk, self.calls, self._clock = Desk(), calls, clock
        self.reports = Reports(self.desk, calls, clock)  # type: ignore[arg-type]
        self.put(count, lease)

    def put(self, count: int, lease: float = 900.0) -> None:
        clock = self._clock
        for number in range(count):
            names = dict.fromkeys(("executionId", "jobId", "clientId", "handler"), "a")
            times = {"startInMs": 0, "leaseInMs": lease * 1000, "deadlineInMs": 10**8}
            attempt = Attempt({**names, "token": f"a.{number}", "attempt": 1, **times}, clock.now(), clock.now())
            self.desk.put(attempt)
            self.reports.put(attempt, {"outcome": "complete"})

    def until_told(self) -> None:
        self.reports.start()
        self.wait()

    def wait(self) -> None:
        until = time.monotonic() + PATIENCE
        while not self.desk.is_empty():
            assert time.monotonic() < until
            if isinstance(self._clock, VirtualClock):
                self._clock.advance(0.05)
            time.sleep(0.002)
        self.reports.stop()

    def pauses(self) -> list[float]:
        times = self.calls.times
        return [round(after - before) for before, after in pairwise(times)]


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


def test_as_many_calls_tell_outcomes_as_fetch_work_and_each_is_full() -> None:
    calls = Scripted(Monotonic())
    calls.meet = threading.Barrier(FETCHES_AT_ONCE, timeout=5).wait
    Telling(Monotonic(), calls, 10 * FETCHES_AT_ONCE).until_told()
    assert calls.sizes == [10] * FETCHES_AT_ONCE


def test_threads_that_wait_for_outcomes_share_none_of_a_call() -> None:
    calls = Scripted(Monotonic())
    telling = Telling(Monotonic(), calls, 0)
    telling.reports.start()
    time.sleep(0.05)
    telling.put(10)
    telling.wait()
    assert calls.sizes == [10]


def slow_down(seconds: float | None) -> TooManyRequests:
    refused = TooManyRequests(429, "slow down")
    refused.retry_after = seconds
    return refused


class TestPauses:
    def test_they_grow_while_the_api_refuses(self, clock: VirtualClock) -> None:
        calls = Scripted(clock, *[NotAllowed(403, "the signature is too old")] * 6)
        telling = Telling(clock, calls)
        telling.until_told()
        assert telling.pauses()[1:] == pytest.approx([1, 2, 4, 5, 5], abs=1)

    def test_they_are_those_that_the_api_asks_for_up_to_a_bound(self, clock: VirtualClock) -> None:
        away = NotCertain("HTTP 503")
        away.__cause__ = slow_down(8)
        telling = Telling(clock, Scripted(clock, slow_down(8), away, slow_down(60)))
        telling.until_told()
        assert telling.pauses() == pytest.approx([8, 8, 15], abs=1)

    def test_one_that_is_asked_for_lasts_no_longer_than_half_of_what_is_left_of_a_claim(
        self, clock: VirtualClock
    ) -> None:
        telling = Telling(clock, Scripted(clock, *[slow_down(60)] * 2), lease=12)
        telling.until_told()
        assert telling.pauses() == pytest.approx([6, 3], abs=1)

    def test_a_call_that_is_taken_ends_them(self, clock: VirtualClock) -> None:
        refused = NotAllowed(403, "the signature is too old")
        calls = Scripted(clock, *[refused] * 4)
        telling = Telling(clock, calls)
        telling.until_told()
        assert not telling.reports._brake.is_wary

    def test_a_fault_of_one_outcome_makes_none(self, clock: VirtualClock) -> None:
        telling = Telling(clock, Scripted(clock, Invalid(422, "faults")), count=10)
        telling.until_told()
        assert telling.pauses() == pytest.approx([0] * 10, abs=0.1)

    def test_those_that_go_alone_keep_the_one_that_the_first_of_them_meets(self, clock: VirtualClock) -> None:
        calls = Scripted(clock, Invalid(422, "faults"), slow_down(8))
        telling = Telling(clock, calls, count=10)
        telling.until_told()
        assert calls.sizes == [10, 1, 10]


@pytest.mark.parametrize("module", ["reports", "pauses"])
def test_a_log_that_raises_ends_no_thread(module: str) -> None:
    fleet, pool = Fleet(Monotonic()), Pool("batch-etl")
    logger = logging.getLogger(f"clockwork_client.worker.{module}")
    pool.handler("work")(lambda *_: None)

    def breaks(_: logging.LogRecord) -> bool:
        raise LookupError("request_id")

    if module == "reports":
        # One for each thread that could die of it.
        fleet.fates["outcomes"] = [422, 422, *[403] * 2]
    else:
        fleet.queues["normal"].faults = [OSError("no route")]
    work = fleet.add("a")
    worker = worker_of(pool, fleet)
    logger.addFilter(breaks)
    try:
        with working(worker):
            fleet.wait_for(ended(work))
            threads = worker._reports._threads + worker._receiving._threads
            assert all(one.is_alive() for one in threads)
    finally:
        logger.removeFilter(breaks)


def test_a_farewell_goes_on_while_the_api_takes_what_is_handed_back(clock: VirtualClock) -> None:
    fleet, pool, begun, jobs = Fleet(clock, lease_seconds=900), Pool("batch-etl"), threading.Semaphore(0), 600

    @pool.handler()
    async def work(*_: Any) -> None:
        begun.release()
        await asyncio.Event().wait()

    def slow(what: str) -> None:
        if what == "outcomes":
            time.sleep(0.05)
            clock.advance(0.8)

    works = [fleet.add(str(number)) for number in range(jobs)]
    worker = worker_of(pool, fleet, clock, concurrency=jobs)
    stop, left = worker._stop_telling, list[int]()

    def noted() -> None:
        left.append(len(worker._desk.all()))
        stop()

    worker._stop_telling = noted  # type: ignore[method-assign]
    with working(worker):
        assert all(begun.acquire(timeout=PATIENCE) for _ in works)
        fleet.slow = slow
    assert left == [0]
    assert {told(one)["outcome"] for one in works} == {"handback"}
