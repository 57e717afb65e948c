"""The two queues of a priority: which is asked first, how often each is drawn, and what the API is told for that."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Sequence

from clockwork_client.transport import Response
from clockwork_client.worker import Pool
from clockwork_client.worker.attempt import Attempt
from clockwork_client.worker.clock import Monotonic
from clockwork_client.worker.desk import Desk
from clockwork_client.worker.draws import QueueDraws, have_overflow
from clockwork_client.worker.queues import Ticket
from clockwork_client.worker.sharing import Sharing
from clockwork_client.worker.slots import Slots
from tests.sdk.fleet import PATIENCE, Fleet, MemoryQueue
from tests.sdk.workshop import ended, worker_of, working

FIRST = ("high", "normal", "low")
QUEUES = (*FIRST, *(f"{one}-overflow" for one in FIRST))


def fleet_of(*queues: str) -> Fleet:
    return Fleet(Monotonic(), queues={one: MemoryQueue() for one in queues})


class TestDraws:
    """8 of high to 4 of normal to 1 of low, and of each 3 to 1 of its overflow queue."""

    def drawn(self, at_work: Sequence[str], count: int = 5_200) -> Counter[str]:
        draws, found = QueueDraws(QUEUES), Counter[str]()
        for _ in range(count):
            name = draws.next(at_work)
            draws.charge(name, 1)
            found[name] += 1
        return found

    def test_while_all_have_work(self) -> None:
        found = self.drawn(QUEUES)
        expected = {"high": 2_400, "normal": 1_200, "low": 300}
        expected |= {"high-overflow": 800, "normal-overflow": 400, "low-overflow": 100}
        assert all(abs(found[name] - count) <= 0.02 * 5_200 for name, count in expected.items())

    def test_an_overflow_queue_alone_has_all_of_its_priority(self) -> None:
        found = self.drawn(["high-overflow", "low"])
        assert abs(found["high-overflow"] - 8 * found["low"]) <= 10

    def test_tickets_that_start_nothing_let_the_overflow_queue_come_forward_rarely_and_not_never(self) -> None:
        draws, found = QueueDraws(QUEUES), Counter[str]()
        for _ in range(3_000):
            name = draws.next(["high", "high-overflow"])
            draws.charge(name, 1)
            if name == "high":
                draws.unstarted(name, 1)
            found[name] += 1
        assert 5 <= found["high-overflow"] <= 50

    def test_a_queue_of_another_name_is_drawn_as_the_least(self) -> None:
        draws = QueueDraws(["high", "spare"])
        draws.join(["high", "spare"])
        assert draws.next(["spare"]) == "spare"


class TestSlots:
    """Tickets that have come get slots before those that are still to be fetched."""

    def test_who_has_tickets_comes_first(self) -> None:
        slots, took = Slots(1), list[str]()
        assert slots.take(1) == 1

        def take(name: str) -> None:
            count = slots.take(1, PATIENCE) if name == "fetch" else slots.take_for_tickets(1, PATIENCE)
            took.extend([name] * count)
            time.sleep(0.02)
            slots.give(count)

        threads = [threading.Thread(target=take, args=("fetch",)) for _ in range(5)]
        for thread in threads:
            thread.start()
        threads.append(threading.Thread(target=take, args=("tickets",)))
        threads[-1].start()
        while not slots._with_tickets:
            time.sleep(0.001)
        slots.give()
        for thread in threads:
            thread.join(PATIENCE)
        assert took == ["tickets", *["fetch"] * 5]

    def test_no_hand_in_time_or_at_the_end_is_none_and_hinders_nobody(self) -> None:
        slots = Slots(1)
        slots.take(1)
        assert slots.take_for_tickets(1, 0.0) == 0
        slots.give()
        assert slots.take(1, 0.0) == 1
        slots.close()
        assert slots.take_for_tickets(1, PATIENCE) == 0


class TestTold:
    """The API is told of all slots, and of the clients, by a worker with all queues of its priorities."""

    def test_a_worker_with_overflow_queues_tells_what_it_has(self, pool: Pool) -> None:
        fleet, gate = fleet_of("high", "high-overflow"), threading.Event()
        pool.handler("work")(lambda *_: gate.wait(PATIENCE))
        with working(worker_of(pool, fleet, concurrency=3)):
            first = fleet.add("a", priority="high")
            fleet.wait_for(lambda: first.state == "RUNNING")
            second = fleet.add("b", priority="high-overflow")
            fleet.wait_for(lambda: second.state == "RUNNING")
            gate.set()
            fleet.wait_for(ended(first, second))
        assert [one.get("slots") for one in fleet.asked("claims")] == [
            {"count": 10, "held": {}},
            {"count": 10, "held": {"acme": 1}},
        ]

    def test_a_worker_without_tells_nothing(self, pool: Pool) -> None:
        fleet = fleet_of("high", "normal", "normal-overflow")
        pool.handler("work")(lambda *_: None)
        with working(worker_of(pool, fleet)):
            fleet.wait_for(ended(fleet.add("a", priority="high")))
        assert ["slots" in one for one in fleet.asked("claims")] == [False]
        assert have_overflow(QUEUES)
        assert not have_overflow(fleet.queues)

    def test_an_api_of_an_older_version_is_told_nothing_from_then_on(self, pool: Pool) -> None:
        fleet = fleet_of("high", "high-overflow")
        pool.handler("work")(lambda *_: None)
        body = b'{"detail": "faults", "errors": [{"pointer": "/slots", "detail": "Extra inputs are not permitted"}]}'
        fleet.fates["claims"] = [Response(422, {}, body)]
        with working(worker_of(pool, fleet)):
            for name in "ab":
                fleet.wait_for(ended(fleet.add(name, priority="high")))
        assert ["slots" in one for one in fleet.asked("claims")] == [True, False, False]

    def test_clients_count_for_an_hour_after_their_last_job_of_the_priority(self) -> None:
        sharing = Sharing(Desk(), 10)
        sharing.met("high", {"clientId": None}, 0.0)
        for number in range(20):
            sharing.met("high", {"clientId": "acme", "token": f"a-{number}"}, 0.0)
            sharing.met("low", {"clientId": "other", "token": f"b-{number}"}, 0.0)
        assert sharing.told("high", 3_599.0)["held"] == {"acme": 5, "other": 5}
        for number in range(20):
            sharing.met("low", {"clientId": "other", "token": f"c-{number}"}, 0.0)
        assert sharing.told("high", 3_599.0)["held"] == {"other": 10, "acme": 0}
        assert sharing.told("high", 3_600.0)["held"] == {"other": 10}

    def test_of_many_clients_the_latest_are_told(self) -> None:
        sharing = Sharing(Desk(), 1)
        for number in range(120):
            sharing.met("high", {"clientId": f"client-{number}", "token": str(number)}, float(number))
        assert list(sharing.told("high", 120.0)["held"]) == [f"client-{number}" for number in range(119, 69, -1)]

    def test_a_free_slot_counts_for_the_client_that_had_it_last(self) -> None:
        desk = Desk()
        sharing = Sharing(desk, 1)
        for number in range(12):
            started = attempt(f"token-{number}", "flood")
            sharing.met("high", {"clientId": "flood", "token": started.token}, 0.0)
            desk.put(started)
            desk.drop(started)
        assert sharing.told("high", 0.0) == {"count": 10, "held": {"flood": 10}}
        sharing.met("high", {"clientId": "quiet", "token": "quiet"}, 0.0)
        assert sharing.told("high", 0.0)["held"] == {"flood": 9, "quiet": 1}

    def test_what_runs_for_long_counts_before_what_has_ended(self) -> None:
        desk = Desk()
        sharing = Sharing(desk, 3)
        for number in range(2):
            desk.put(started := attempt(f"long-{number}", "flood"))
            sharing.met("high", {"clientId": "flood", "token": started.token}, 0.0)
        for number in range(20):
            sharing.met("high", {"clientId": "quiet", "token": f"short-{number}"}, 0.0)
        assert sharing.told("high", 0.0) == {"count": 10, "held": {"quiet": 8, "flood": 2}}


def attempt(token: str, client_id: str) -> Attempt:
    answer = {"executionId": token, "jobId": "j", "clientId": client_id, "attempt": 1, "token": token}
    more = {"handler": "work", "payload": "", "startInMs": 0, "leaseInMs": 1_000, "deadlineInMs": 1_000}
    return Attempt({**answer, **more}, 0.0, 0.0)


class Late(MemoryQueue):
    """A queue whose long polls find nothing: only a short poll tells."""

    def receive(self, most: int, wait_seconds: int) -> Sequence[Ticket]:
        if wait_seconds:
            time.sleep(0.05)
            return ()
        return super().receive(most, wait_seconds)


def test_the_first_queue_is_asked_before_the_overflow_queue_although_it_seems_quiet(pool: Pool) -> None:
    fleet = Fleet(Monotonic(), queues={"high": Late(), "high-overflow": MemoryQueue()})
    order, gate = list[str](), threading.Event()

    @pool.handler("work")
    def work(payload: str, _: object) -> None:
        order.append(payload)
        gate.wait(PATIENCE)

    for number in range(30):
        fleet.add(f"flood-{number}", payload="flood", priority="high-overflow")
    worker = worker_of(pool, fleet, concurrency=2)
    with working(worker):
        fleet.wait_for(lambda: len(order) == 2)
        works = [fleet.add("quiet", payload="quiet", priority="high")]
        gate.set()
        fleet.wait_for(ended(*works))
        fleet.wait_for(ended(*fleet.works.values()))
        fleet.wait_for(lambda: worker._slots.free == 2)
    # Calls that were under way by then bring what they bring.
    assert order.index("quiet") <= 2 + 20
    assert len(order) == 31
