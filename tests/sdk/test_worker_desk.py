"""A worker whose outcomes the API does not take stops taking up work, and goes on once they are taken."""

from __future__ import annotations

import time

from clockwork_client.worker import Pool
from clockwork_client.worker.clock import Monotonic
from tests.sdk.fleet import Fleet, VirtualClock
from tests.sdk.workshop import worker_of, working


def running(fleet: Fleet) -> int:
    return sum(one.state == "RUNNING" for one in fleet.works.values())


def test_what_is_done_and_not_told_is_bounded_by_the_hands() -> None:
    pool, fleet = Pool("batch-etl"), Fleet(Monotonic())
    pool.handler("work")(lambda *_: None)
    for number in range(300):
        fleet.add(str(number))
    fleet.fates["outcomes"] = [503] * 1_000_000
    with working(worker_of(pool, fleet)):
        fleet.wait_for(lambda: running(fleet) >= 40)
        time.sleep(0.5)
        # Four for each of ten hands, and what hands had begun to take.
        assert running(fleet) <= 4 * 10 + 10
        fleet.fates["outcomes"] = []
        fleet.wait_for(lambda: all(one.outcome is not None for one in fleet.works.values()))


def test_a_worker_of_one_hand_may_tell_by_ten() -> None:
    pool, fleet = Pool("batch-etl"), Fleet(Monotonic())
    pool.handler("work")(lambda *_: None)
    for number in range(100):
        fleet.add(str(number))
    fleet.fates["outcomes"] = [503] * 1_000_000
    with working(worker_of(pool, fleet, concurrency=1)):
        fleet.wait_for(lambda: running(fleet) >= 40)
        fleet.fates["outcomes"] = []
        fleet.wait_for(lambda: all(one.outcome is not None for one in fleet.works.values()))


def test_a_worker_that_waits_for_the_api_to_take_outcomes_is_no_stuck_one() -> None:
    clock = VirtualClock()
    pool, fleet = Pool("batch-etl"), Fleet(clock)
    pool.handler("work")(lambda *_: None)
    for number in range(60):
        fleet.add(str(number))
    fleet.fates["outcomes"] = [503] * 1_000_000
    worker = worker_of(pool, fleet, clock)
    with working(worker):
        fleet.wait_for(worker._desk.is_full)
        clock.advance(50)
        time.sleep(0.1)
        assert worker.seconds_since_receive() == 0
        fleet.fates["outcomes"] = []
        while not all(one.outcome for one in fleet.works.values()):
            clock.advance(0.1)
            time.sleep(0.001)
