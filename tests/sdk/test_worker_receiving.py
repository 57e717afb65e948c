"""A worker receives, gives back and asks for messages when SQS, the API or its own machine refuses."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pytest

from clockwork.domain.pools.pool import HANDLER
from clockwork.edge.requests.workers import ClaimsBody
from clockwork_client.transport import Response
from clockwork_client.worker import Pool, Worker, identity
from clockwork_client.worker.busy import FETCHES_AT_ONCE, Busy
from clockwork_client.worker.clock import Monotonic
from clockwork_client.worker.queues import Ticket
from tests.sdk.fleet import PATIENCE, Fleet, MemoryQueue, VirtualClock
from tests.sdk.workshop import worker_of, working

PRIORITIES = ("high", "normal", "low")


def all_ended(fleet: Fleet) -> Callable[[], bool]:
    return lambda: all(one.outcome is not None for one in fleet.works.values())


def is_idle(worker: Worker) -> bool:
    return worker._slots.free == worker._slots.count and worker._desk.is_empty()


class TestSlots:
    """Every slot that was taken comes back once."""

    def test_tickets_that_cannot_be_given_back_take_no_hand(self, pool: Pool) -> None:
        fleet = Fleet(Monotonic(), queues={"high": MemoryQueue(), "low": MemoryQueue()})
        gate, asked, arrived = threading.Event(), threading.Event(), threading.Event()
        pool.handler("work")(lambda *_: gate.wait(PATIENCE))
        low, faults = fleet.queues["low"], [OSError("connect timeout")]
        receive, give_back = low.receive, low.give_back

        def late(most: int, wait_seconds: int) -> Sequence[Ticket]:
            if wait_seconds and not asked.is_set():
                asked.set()
                arrived.wait(PATIENCE)
            return receive(most, wait_seconds)

        def failing(tickets: Sequence[Ticket]) -> None:
            if faults:
                raise faults.pop()
            give_back(tickets)

        low.receive, low.give_back = late, failing  # type: ignore[method-assign]
        worker = worker_of(pool, fleet)
        with working(worker):
            assert asked.wait(PATIENCE)
            for number in range(8):
                fleet.add(f"high-{number}", priority="high")
            fleet.wait_for(lambda: worker._slots.free == 2)
            for number in range(10):
                fleet.add(f"low-{number}", priority="low")
            arrived.set()
            fleet.wait_for(lambda: not faults)
            # Two of the ten had a slot.
            fleet.wait_for(lambda: sum(one.state == "RUNNING" for one in fleet.works.values()) == 10)
            gate.set()
            fleet.wait_for(lambda: is_idle(worker))

    @pytest.mark.parametrize("broken", [1, 3, 5])
    def test_an_attempt_that_cannot_be_started_frees_its_own_hand_and_is_handed_back(
        self, pool: Pool, fleet: Fleet, broken: int
    ) -> None:
        gate, begun = threading.Event(), list[Any]()

        @pool.handler()
        def work(payload: Any, _: Any) -> None:
            begun.append(payload)
            gate.wait(PATIENCE)

        worker = worker_of(pool, fleet, concurrency=5)
        start, started = worker._handlers.start, list[Any]()

        def failing(attempt: Any) -> None:
            started.append(attempt)
            if len(started) == broken:
                raise RuntimeError("can't start new thread")
            start(attempt)

        worker._handlers.start = failing  # type: ignore[method-assign]
        for number in range(5):
            fleet.add(str(number), payload=number)
        with working(worker):
            fleet.wait_for(lambda: len(begun) == 4)
            fleet.wait_for(lambda: sum(one.outcome is not None for one in fleet.works.values()) == 1)
            fleet.wait_for(lambda: worker._slots.free == 1)
            gate.set()
            fleet.wait_for(lambda: is_idle(worker))
        said = sorted(one.outcome["outcome"] for one in fleet.works.values() if one.outcome)
        assert said == [*["complete"] * 4, "handback"]

    def test_a_worker_that_gets_no_thread_says_so_when_it_starts_and_takes_nothing(
        self, pool: Pool, fleet: Fleet, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        start = threading.Thread.start

        def failing(thread: threading.Thread) -> None:
            if thread.name.startswith("clockwork-fetch"):
                raise RuntimeError("can't start new thread")
            start(thread)

        monkeypatch.setattr(threading.Thread, "start", failing)
        pool.handler("work")(lambda *_: None)
        worker = worker_of(pool, fleet)
        with pytest.raises(RuntimeError, match="can't start new thread"):
            worker.run()
        fleet.add("a")
        time.sleep(0.1)
        assert [one.body for one in fleet.queues["normal"].visible] == ["a"]

    def test_no_thread_is_needed_to_receive_once_a_worker_has_started(
        self, pool: Pool, fleet: Fleet, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        started, start = list[str](), threading.Thread.start

        def noted(thread: threading.Thread) -> None:
            started.append(thread.name)
            start(thread)

        pool.handler("work")(lambda *_: None)
        worker = worker_of(pool, fleet)
        with working(worker):
            fleet.wait_for(lambda: all(one.is_alive() for one in worker._receiving._threads))
            monkeypatch.setattr(threading.Thread, "start", noted)
            for number in range(200):
                fleet.add(str(number))
            fleet.wait_for(all_ended(fleet))
            assert [one for one in started if "handler" not in one] == []


class TestRefusedClaims:
    """A worker that the API refuses leaves the tickets to others."""

    @pytest.fixture
    def clock(self) -> VirtualClock:
        return VirtualClock()

    @pytest.fixture
    def fleet(self, clock: VirtualClock) -> Fleet:
        fleet = Fleet(clock, queues={one: MemoryQueue() for one in PRIORITIES})
        for number in range(99):
            fleet.add(str(number), priority=PRIORITIES[number % 3])
        return fleet

    def pass_time(self, clock: VirtualClock, seconds: int) -> None:
        for _ in range(seconds):
            clock.advance(1)
            time.sleep(0.01)

    def visible(self, fleet: Fleet) -> int:
        return sum(len(one.visible) for one in fleet.queues.values())

    @pytest.mark.parametrize("status", [403, 422])
    def test_tickets_go_back_and_the_pauses_grow_until_a_claim_is_answered(
        self, pool: Pool, fleet: Fleet, clock: VirtualClock, status: int
    ) -> None:
        pool.handler("work")(lambda *_: None)
        fleet.fates["claims"] = [status] * 1_000
        with working(worker_of(pool, fleet, clock, concurrency=100)):
            self.pass_time(clock, 150)
            fleet.wait_for(lambda: self.visible(fleet) == 99)
            calls = fleet.asked("claims")
            # Pauses of 1, 2, 4, 8, 16, 30 s and on; the three queues are asked after each.
            assert 6 <= len(calls) <= 3 * 10
            assert all(len(one["claims"]) == 1 for one in calls[6:])
            fleet.fates["claims"] = []
            self.pass_time(clock, 35)
            fleet.wait_for(all_ended(fleet))

    def test_a_pause_that_is_asked_for_is_kept(self, pool: Pool, fleet: Fleet, clock: VirtualClock) -> None:
        pool.handler("work")(lambda *_: None)
        slow_down = Response(429, {"retry-after": "60"}, b'{"detail": "slow down"}')
        fleet.fates["claims"] = [slow_down] * 100
        with working(worker_of(pool, fleet, clock, concurrency=100)):
            fleet.wait_for(lambda: fleet.asked("claims"))
            self.pass_time(clock, 58)
            # Those that were under way together with the first.
            assert len(fleet.asked("claims")) <= len(PRIORITIES) + FETCHES_AT_ONCE
            fleet.wait_for(lambda: self.visible(fleet) == 99)
            fleet.fates["claims"] = []
            self.pass_time(clock, 5)
            fleet.wait_for(all_ended(fleet))

    def test_a_ticket_whose_hand_comes_free_in_a_pause_goes_back_unclaimed(
        self, pool: Pool, clock: VirtualClock
    ) -> None:
        pool.handler("work")(lambda *_: None)
        fleet = Fleet(clock)
        fleet.add("0")
        worker, queue, waits = worker_of(pool, fleet, clock, concurrency=1), fleet.queues["normal"], threading.Event()
        receive = queue.receive

        def without_a_hand(most: int, wait_seconds: int) -> Sequence[Ticket]:
            tickets = receive(most, wait_seconds)
            if tickets and not waits.is_set():
                assert worker._slots.take(1, 0.0) == 1
                waits.set()
            return tickets

        queue.receive = without_a_hand  # type: ignore[method-assign]
        with working(worker):
            assert waits.wait(PATIENCE)
            time.sleep(0.05)
            worker._receiving._claims.brake.pull(clock.now(), 60)
            worker._slots.give()
            fleet.wait_for(lambda: queue.given_back)
            fleet.wait_for(lambda: is_idle(worker))
            assert not fleet.asked("claims")
            self.pass_time(clock, 65)
            fleet.wait_for(all_ended(fleet))

    def test_tickets_without_a_certain_answer_stay_hidden(self, pool: Pool, fleet: Fleet, clock: VirtualClock) -> None:
        pool.handler("work")(lambda *_: None)
        fleet.answers = {"claims": {"claims": []}}
        with working(worker_of(pool, fleet, clock, concurrency=100)):
            fleet.wait_for(lambda: fleet.asked("claims"))
            self.pass_time(clock, 3)
            fleet.wait_for(lambda: sum(one.outcome is not None for one in fleet.works.values()) >= 89)
        assert all(not one.given_back for one in fleet.queues.values())


class TestIdentity:
    """A worker whose claims would be refused does not start."""

    @pytest.mark.parametrize("worker_id", ["etl 1", "größe", "x" * 129, "a\n"])
    def test_a_worker_id_that_the_api_refuses_is_a_mistake(self, pool: Pool, fleet: Fleet, worker_id: str) -> None:
        pool.handler("work")(lambda *_: None)
        with pytest.raises(ValueError, match="is not 1 to 128 visible"):
            worker_of(pool, fleet, worker_id=worker_id)

    @pytest.mark.parametrize("name", ["close month", "1st", "größe", "x" * 65, "<lambda>", "work\n"])
    def test_a_handler_that_the_api_refuses_is_a_mistake(self, pool: Pool, fleet: Fleet, name: str) -> None:
        pool.handler(name)(lambda *_: None)
        with pytest.raises(ValueError, match="is not named as handlers are"):
            worker_of(pool, fleet)

    def test_a_worker_has_as_many_handlers_as_the_api_takes(self, pool: Pool, fleet: Fleet) -> None:
        for number in range(201):
            pool.handler(f"work_{number}")(lambda *_: None)
        with pytest.raises(ValueError, match="there are 201 handlers"):
            worker_of(pool, fleet)

    def test_the_rules_are_those_of_the_api(self) -> None:
        described = ClaimsBody.model_json_schema()["properties"]
        worker_id, handlers = described["workerId"], described["handlers"]
        assert identity.WORKER_ID.pattern == r"[\x21-\x7e]{1,128}"
        assert (worker_id["pattern"], worker_id["minLength"], worker_id["maxLength"]) == (r"^[\x21-\x7e]+$", 1, 128)
        assert identity.HANDLER.pattern == HANDLER.pattern
        assert handlers["maxItems"] == identity.MOST_HANDLERS

    @pytest.mark.parametrize("host", ["web-1.example.com", "meine kiste", "größe", "x" * 500, ""])
    def test_its_own_id_is_one_that_the_api_takes(self, host: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("socket.gethostname", lambda: host)
        identity.check(identity.new_worker_id(), ["work"])


class TestShortPolls:
    """A queue has more short polls at once as they come back full."""

    def test_a_trickle_costs_one_empty_poll_a_ticket(self, pool: Pool, fleet: Fleet) -> None:
        pool.handler("work")(lambda *_: None)
        queue, empty = fleet.queues["normal"], list[int]()
        receive = queue.receive

        def counted(most: int, wait_seconds: int) -> Sequence[Ticket]:
            tickets = receive(most, wait_seconds)
            if not wait_seconds:
                time.sleep(0.01)
                empty.extend(() if tickets else (most,))
            return tickets

        queue.receive = counted  # type: ignore[method-assign]
        with working(worker_of(pool, fleet, concurrency=1_000)):
            for number in range(10):
                work = fleet.add(str(number))
                fleet.wait_for(partial(lambda one: one.outcome is not None, work))
                time.sleep(0.05)
        assert len(empty) <= 2 * 10

    def test_full_answers_earn_more_and_others_fewer(self) -> None:
        busy = Busy(PRIORITIES)
        assert busy.found("high", is_full=False) == {"high"}
        assert self.asked(busy) == 1
        busy.answered("high", 10, 10)
        assert self.asked(busy) == 2
        for _ in range(2):
            busy.answered("high", 10, 10)
        assert self.asked(busy) == FETCHES_AT_ONCE
        for came in (9, 0, 0):
            assert self.asked(busy) == 0
            busy.answered("high", 10, came)
        # One is allowed by now, and what is under way still counts.
        busy.answered("high", 10, 1)
        assert self.asked(busy) == 0
        busy.answered("high", 10, 0)
        assert (busy.open(), busy.wait_quiet("high")) == (frozenset(), True)

    def asked(self, busy: Busy) -> int:
        """How many more short polls begin."""
        count = 0
        while busy.open():
            busy.asked("high")
            count += 1
        return count
