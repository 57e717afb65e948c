"""A worker whose outcomes the API does not take stops taking up work, and goes on once they are taken."""

from __future__ import annotations

import time
from collections.abc import Callable

from clockwork_client.worker import Pool
from tests.sdk.fleet import PATIENCE, Fleet, VirtualClock
from tests.sdk.workshop import worker_of, working


def running(fleet: Fleet) -> int:
    return sum(one.state == "RUNNING" for one in fleet.works.values())


def is_told(fleet: Fleet) -> bool:
    return all(one.outcome is not None for one in fleet.works.values())


def pass_until(clock: VirtualClock, condition: Callable[[], bool]) -> None:
    """Let time pass until something holds: what waits for the API waits for up to half a minute."""
    ends_at = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < ends_at, "it never came to that"
        clock.advance(0.1)
        time.sleep(0.001)


def refused(jobs: int) -> tuple[Pool, Fleet, VirtualClock]:
    """A pool with jobs that are done at once, and an API that takes no outcomes."""
    clock = VirtualClock()
    pool, fleet = Pool("batch-etl"), Fleet(clock)
    pool.handler("work")(lambda *_: None)
    for number in range(jobs):
        fleet.add(str(number))
    fleet.fates["outcomes"] = [503] * 1_000_000
    return pool, fleet, clock


def test_what_is_done_and_not_told_is_bounded_by_the_slots() -> None:
    pool, fleet, clock = refused(300)
    with working(worker_of(pool, fleet, clock), clock):
        pass_until(clock, lambda: running(fleet) >= 40)
        for _ in range(200):
            clock.advance(0.1)
            time.sleep(0.001)
        # Four for each of ten slots, and what slots had begun to take.
        assert running(fleet) <= 4 * 10 + 10
        fleet.fates["outcomes"] = []
        pass_until(clock, lambda: is_told(fleet))


def test_a_worker_of_one_hand_may_tell_by_ten() -> None:
    pool, fleet, clock = refused(60)
    with working(worker_of(pool, fleet, clock, concurrency=1), clock):
        pass_until(clock, lambda: running(fleet) >= 40)
        fleet.fates["outcomes"] = []
        pass_until(clock, lambda: is_told(fleet))


def test_a_worker_that_waits_for_the_api_to_take_outcomes_is_no_stuck_one() -> None:
    pool, fleet, clock = refused(60)
    worker = worker_of(pool, fleet, clock)
    with working(worker, clock):
        pass_until(clock, worker._desk.is_full)
        clock.advance(50)
        time.sleep(0.1)
        assert worker.seconds_since_receive() == 0
        fleet.fates["outcomes"] = []
        pass_until(clock, lambda: is_told(fleet))
