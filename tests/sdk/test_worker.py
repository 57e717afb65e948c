"""Workers against a pool in memory: what is done, told and kept, whatever answers are lost, late, stale or wrong."""

from __future__ import annotations

import asyncio
import threading
import time
from functools import partial
from typing import Any

import pytest

from clockwork_client.worker import Cancelled, Checkpoint, Context, Fail, Lost, Pool
from clockwork_client.worker.clock import Monotonic
from clockwork_client.worker.draws import Draws
from tests.sdk.fleet import PATIENCE, Fleet, MemoryQueue, VirtualClock
from tests.sdk.workshop import ended, worker_of, working

PRIORITIES = ("high", "normal", "low")


def test_a_job_is_done_and_its_result_told(pool: Pool, fleet: Fleet) -> None:
    seen: list[Any] = []

    @pool.handler("generate_invoices")
    def generate(payload: Any, ctx: Context) -> dict[str, int]:
        seen.append((payload, ctx.execution_id, ctx.job_id, ctx.client_id, ctx.attempt, ctx.last_checkpoint))
        return {"pages": 12}

    work = fleet.add("a", "generate_invoices", {"month": 5})
    with working(worker_of(pool, fleet)):
        fleet.wait_for(ended(work))
    assert seen == [({"month": 5}, "a", "job-a", "acme", 1, None)]
    assert work.outcome == {"token": work.token, "outcome": "complete", "result": {"pages": 12}}
    (claim,) = fleet.asked("claims")
    assert (claim["workerId"], claim["handlers"]) == ("host-1", ["generate_invoices"])
    assert claim["claims"][0]["receiptHandle"] == "receipt-a"
    assert len(claim["claims"][0]["claimId"]) == 22


def test_an_async_handler_is_awaited(pool: Pool, fleet: Fleet) -> None:
    @pool.handler()
    async def work(payload: Any, ctx: Context) -> Any:
        await asyncio.sleep(0)
        await ctx.checkpoint_async("kept")
        return payload

    work_ = fleet.add("a", payload=[1])
    with working(worker_of(pool, fleet)):
        fleet.wait_for(ended(work_))
    assert work_.outcome is not None
    assert work_.outcome["result"] == [1]
    assert work_.checkpoint == {"attempt": 1, "sequence": 1, "value": "kept"}


def test_claims_and_outcomes_go_by_ten(pool: Pool, fleet: Fleet) -> None:
    gate = threading.Event()
    pool.handler("work")(lambda *_: gate.wait(PATIENCE))
    works = [fleet.add(str(number)) for number in range(30)]
    with working(worker_of(pool, fleet, concurrency=30)):
        fleet.wait_for(lambda: all(one.state == "RUNNING" for one in works))
        gate.set()
        fleet.wait_for(lambda: all(one.outcome for one in works))
    assert sum(len(one["claims"]) for one in fleet.asked("claims")) == 30
    assert max(len(one["claims"]) for one in fleet.asked("claims")) == 10
    assert max(len(one["outcomes"]) for one in fleet.asked("outcomes")) == 10


def test_no_more_handlers_run_than_there_are_slots(pool: Pool, fleet: Fleet) -> None:
    running, most, lock = 0, 0, threading.Lock()

    def work(*_: Any) -> None:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        time.sleep(0.002)
        with lock:
            running -= 1

    pool.handler("work")(work)
    works = [fleet.add(str(number)) for number in range(40)]
    with working(worker_of(pool, fleet, concurrency=3)):
        fleet.wait_for(lambda: all(one.outcome for one in works))
    assert most == 3
    assert set(fleet.handed_out.values()) == {1}


@pytest.mark.parametrize(
    ("raised", "told"),
    [
        (ValueError("bad"), {"error": "ValueError: bad"}),
        (Fail("no such month", retryable=False), {"error": "no such month", "retryable": False}),
        (Fail("busy", retry_after=600), {"error": "busy", "retryAfterSeconds": 600}),
        (Fail(""), {"error": "no error was given"}),
        (Cancelled("by myself"), {"error": "Cancelled: by myself"}),
        (SystemExit(3), {"error": "SystemExit: 3"}),
    ],
)
@pytest.mark.parametrize("is_async", [False, True])
def test_what_a_handler_raises_is_a_failure(
    pool: Pool, fleet: Fleet, raised: BaseException, told: dict[str, Any], is_async: bool
) -> None:
    def work(*_: Any) -> None:
        raise raised

    async def work_async(*_: Any) -> None:
        raise raised

    pool.handler("work")(work_async if is_async else work)
    work_ = fleet.add("a")
    with working(worker_of(pool, fleet)):
        fleet.wait_for(ended(work_))
    assert work_.outcome == {"token": work_.token, "outcome": "fail", **told}


@pytest.mark.parametrize(
    ("result", "said"), [({1, 2}, "is no JSON"), (float("nan"), "is no JSON"), ("x" * 32_768, "has 32,770 bytes")]
)
def test_a_result_that_cannot_be_kept_is_a_failure_that_no_retry_mends(
    pool: Pool, fleet: Fleet, result: Any, said: str
) -> None:
    pool.handler("work")(lambda *_: result)
    work = fleet.add("a")
    with working(worker_of(pool, fleet)):
        fleet.wait_for(ended(work))
    assert work.outcome is not None
    assert (work.outcome["outcome"], work.outcome["retryable"]) == ("fail", False)
    assert said in work.outcome["error"]


def test_an_error_is_cut_to_what_the_api_takes(pool: Pool, fleet: Fleet) -> None:
    def work(*_: Any) -> None:
        raise ValueError("é" * 40_000)

    pool.handler("work")(work)
    work_ = fleet.add("a")
    with working(worker_of(pool, fleet)):
        fleet.wait_for(ended(work_))
    assert work_.outcome is not None
    assert 32_000 < len(work_.outcome["error"].encode()) <= 32_768


class TestHeartbeats:
    """In virtual time: a lease is 90 s, a heartbeat comes every 15 s."""

    @pytest.fixture
    def clock(self) -> VirtualClock:
        return VirtualClock()

    @pytest.fixture
    def fleet(self, clock: VirtualClock) -> Fleet:
        return Fleet(clock)

    def pass_time(self, fleet: Fleet, clock: VirtualClock, beats: int) -> None:
        """Let the time of so many beats pass, each after the one before was seen."""
        for _ in range(beats):
            before = len(fleet.asked("heartbeats"))
            clock.advance(15)
            fleet.wait_for(partial(self.beaten, fleet, before))

    def beaten(self, fleet: Fleet, before: int) -> bool:
        return len(fleet.asked("heartbeats")) > before

    def test_a_handler_that_blocks_its_event_loop_for_minutes_keeps_its_lease(
        self, pool: Pool, fleet: Fleet, clock: VirtualClock
    ) -> None:
        gate = threading.Event()

        @pool.handler()
        async def work(_: Any, ctx: Context) -> str:
            gate.wait(PATIENCE)  # what no `async` handler should do
            return "lost" if ctx.lost else "kept"

        work_ = fleet.add("a")
        with working(worker_of(pool, fleet, clock)):
            fleet.wait_for(lambda: work_.state == "RUNNING")
            for _ in range(20):
                assert work_.lease_until > clock.now()
                self.pass_time(fleet, clock, 1)
            gate.set()
            fleet.wait_for(ended(work_))
        assert work_.outcome is not None
        assert work_.outcome["result"] == "kept"

    def test_beats_share_a_call_and_carry_what_there_is_to_tell(
        self, pool: Pool, fleet: Fleet, clock: VirtualClock
    ) -> None:
        gate, begun = threading.Event(), threading.Barrier(6)

        @pool.handler()
        def work(payload: Any, ctx: Context) -> None:
            if payload == 1:
                ctx.heartbeat(0.5, "half-way" + "y" * 300)
            begun.wait(PATIENCE)
            gate.wait(PATIENCE)

        works = [fleet.add(str(number), payload=number) for number in range(5)]
        with working(worker_of(pool, fleet, clock)):
            begun.wait(PATIENCE)
            self.pass_time(fleet, clock, 2)
            gate.set()
            fleet.wait_for(lambda: all(one.outcome for one in works))
        first, second = fleet.asked("heartbeats")[:2]
        assert [len(one["heartbeats"]) for one in (first, second)] == [5, 5]
        (news,) = [one for one in first["heartbeats"] if "progress" in one]
        assert (news["progress"], len(news["message"])) == (0.5, 256)
        assert all(set(one) == {"token"} for one in second["heartbeats"])

    def test_without_an_answer_the_claim_ends_by_the_workers_own_count_and_is_never_revived(
        self, pool: Pool, fleet: Fleet, clock: VirtualClock
    ) -> None:
        started, stopped = threading.Event(), threading.Event()

        @pool.handler()
        def work(_: Any, ctx: Context) -> None:
            started.set()
            while not ctx.lost:
                time.sleep(0.001)
            stopped.set()
            ctx.heartbeat()

        work_ = fleet.add("a")
        fleet.fates["heartbeats"] = [503] * 1_000_000
        with working(worker_of(pool, fleet, clock)):
            assert started.wait(PATIENCE)
            clock.advance(89)
            assert not stopped.wait(0.05)
            clock.advance(1)
            assert stopped.wait(PATIENCE)
            time.sleep(0.05)
            beats = len(fleet.asked("heartbeats"))
            clock.advance(600)
            time.sleep(0.05)
            assert len(fleet.asked("heartbeats")) == beats
        assert work_.outcome is None

    def test_a_lease_counts_from_when_the_beat_was_sent(self, pool: Pool, fleet: Fleet, clock: VirtualClock) -> None:
        started, lost_at = threading.Event(), list[float]()

        @pool.handler()
        def work(_: Any, ctx: Context) -> None:
            started.set()
            while not ctx.lost:
                time.sleep(0.001)
            lost_at.append(clock.now())

        fleet.add("a")
        with working(worker_of(pool, fleet, clock)):
            assert started.wait(PATIENCE)
            begun = clock.now()
            fleet.slow = lambda what: clock.advance(12) if what == "heartbeats" else None
            clock.advance(15)
            fleet.wait_for(lambda: len(fleet.asked("heartbeats")) == 1)
            fleet.slow, fleet.fates["heartbeats"] = lambda _: None, [503] * 1_000_000
            fleet.wait_for(lambda: clock.now() >= begun + 27)
            # The heartbeat was sent after 15 s and answered after 27: the claim ends after 105.
            clock.advance(77)
            time.sleep(0.05)
            assert lost_at == []
            clock.advance(1)
            fleet.wait_for(lambda: lost_at)
        assert lost_at == [begun + 105]

    def test_a_stale_beat_tells_the_handler_at_its_next_call(
        self, pool: Pool, fleet: Fleet, clock: VirtualClock
    ) -> None:
        raised, started = list[BaseException](), threading.Event()

        @pool.handler()
        def work(_: Any, ctx: Context) -> None:
            started.set()
            try:
                while True:
                    ctx.heartbeat(message="on and on")
                    time.sleep(0.001)
            except BaseException as error:
                raised.append(error)
                raise

        work_ = fleet.add("a")
        with working(worker_of(pool, fleet, clock)):
            assert started.wait(PATIENCE)
            work_.claim_id = "somebody-else"
            clock.advance(15)
            fleet.wait_for(lambda: raised)
        assert isinstance(raised[0], Lost)
        assert work_.outcome is None

    @pytest.mark.parametrize("is_async", [False, True])
    def test_a_cancel_is_told_and_the_attempt_ends_cancelled(
        self, pool: Pool, fleet: Fleet, clock: VirtualClock, is_async: bool
    ) -> None:
        started = threading.Event()

        def work(_: Any, ctx: Context) -> None:
            started.set()
            while True:
                ctx.heartbeat()
                time.sleep(0.001)

        async def work_async(*_: Any) -> None:
            started.set()
            await asyncio.Event().wait()

        pool.handler("work")(work_async if is_async else work)
        work_ = fleet.add("a")
        with working(worker_of(pool, fleet, clock)):
            assert started.wait(PATIENCE)
            work_.is_cancelled = True
            clock.advance(15)
            fleet.wait_for(ended(work_))
        assert work_.outcome == {"token": work_.token, "outcome": "cancelled"}

    def test_a_handler_may_finish_although_a_cancel_was_asked_for(
        self, pool: Pool, fleet: Fleet, clock: VirtualClock
    ) -> None:
        @pool.handler()
        def work(_: Any, ctx: Context) -> str:
            while not ctx.cancelled:
                time.sleep(0.001)
            return "the truth"

        work_ = fleet.add("a")
        with working(worker_of(pool, fleet, clock)):
            fleet.wait_for(lambda: work_.state == "RUNNING")
            work_.is_cancelled = True
            clock.advance(15)
            fleet.wait_for(ended(work_))
        assert work_.outcome is not None
        assert work_.outcome["result"] == "the truth"

    def test_nothing_starts_before_its_instant(self, pool: Pool, fleet: Fleet, clock: VirtualClock) -> None:
        begun = list[float]()
        pool.handler("work")(lambda *_: begun.append(clock.now()))
        at = clock.now()
        work = fleet.add("a", start_in_ms=1_500)
        with working(worker_of(pool, fleet, clock)):
            fleet.wait_for(lambda: work.state == "RUNNING")
            clock.advance(1.25)
            time.sleep(0.05)
            assert begun == []
            # The start counts from the answer, which the worker may have read a moment after it was given.
            clock.advance(0.25)
            time.sleep(0.05)
            clock.advance(0.25)
            fleet.wait_for(ended(work))
        assert begun[0] >= at + 1.5

    def test_what_was_claimed_by_an_answer_that_came_too_late_never_starts(
        self, pool: Pool, fleet: Fleet, clock: VirtualClock
    ) -> None:
        begun = list[Any]()
        pool.handler("work")(lambda payload, _: begun.append(payload))

        def slow(what: str) -> None:
            # The claim is done when the request arrives, and answered when its lease is over here.
            if what == "claims" and not fleet.asked("claims"):
                clock.advance(91)

        fleet.slow = slow
        fleet.add("a", payload="late")
        second = None
        with working(worker_of(pool, fleet, clock)):
            fleet.wait_for(lambda: fleet.works["a"].state == "RUNNING")
            second = fleet.add("b", payload="in time")
            fleet.wait_for(ended(second))
        assert begun == ["in time"]
        assert fleet.works["a"].outcome is None


def test_a_claim_without_an_answer_is_asked_for_again_under_the_same_id_and_started_once(
    pool: Pool, fleet: Fleet
) -> None:
    begun = list[Any]()
    pool.handler("work")(lambda payload, _: begun.append(payload))
    fleet.fates["claims"] = ["lost", 503]
    work = fleet.add("a", payload=1)
    with working(worker_of(pool, fleet)):
        fleet.wait_for(ended(work))
    assert len({one["claims"][0]["claimId"] for one in fleet.asked("claims")}) == 1
    assert (len(fleet.asked("claims")), begun, fleet.handed_out["a"]) == (3, [1], 1)


def test_what_the_api_has_no_answer_about_is_asked_for_again_under_the_same_id(pool: Pool, fleet: Fleet) -> None:
    pool.handler("work")(lambda *_: None)
    fleet.unavailable = {"a"}
    work = fleet.add("a")
    with working(worker_of(pool, fleet)):
        fleet.wait_for(ended(work))
    first, second = fleet.asked("claims")
    assert first["claims"] == second["claims"]


def test_what_is_gone_frees_its_hand(pool: Pool, fleet: Fleet) -> None:
    pool.handler("work")(lambda *_: None)
    for number in range(5):
        fleet.queues["normal"].put(f"nobody-knows-{number}")
    work = fleet.add("a")
    with working(worker_of(pool, fleet, concurrency=1)):
        fleet.wait_for(ended(work))


@pytest.mark.parametrize(
    "answer",
    [
        {"claims": []},
        {"claims": ["start"]},
        {"claims": [{"outcome": "start"}]},
        {"claims": [{"outcome": "start", "executionId": "x", "jobId": "j", "clientId": "c", "attempt": "first"}]},
        {"claims": [{"outcome": "something new"}]},
        [],
        None,
    ],
)
def test_an_answer_that_makes_no_sense_ends_with_its_ticket(pool: Pool, fleet: Fleet, answer: Any) -> None:
    pool.handler("work")(lambda *_: None)
    fleet.answers = {"claims": answer}
    fleet.add("a")
    with working(worker_of(pool, fleet, concurrency=1)):
        fleet.wait_for(lambda: fleet.asked("claims"))
        work = fleet.add("b")
        fleet.wait_for(ended(work))


def test_a_queue_that_fails_is_asked_again(pool: Pool, fleet: Fleet) -> None:
    pool.handler("work")(lambda *_: None)
    fleet.queues["normal"].faults = [OSError("no route"), RuntimeError("throttled")]
    work = fleet.add("a")
    with working(worker_of(pool, fleet)):
        fleet.wait_for(ended(work))


def test_outcomes_are_told_until_they_are_taken(pool: Pool, fleet: Fleet) -> None:
    pool.handler("work")(lambda *_: "done")
    fleet.fates["outcomes"] = [500, "lost", 503, 429]
    work = fleet.add("a")
    with working(worker_of(pool, fleet)):
        fleet.wait_for(ended(work))
        fleet.wait_for(lambda: len(fleet.asked("outcomes")) >= 5)
    assert {one["outcomes"][0]["result"] for one in fleet.asked("outcomes")} == {"done"}


def test_an_outcome_that_is_stale_is_told_once(pool: Pool, fleet: Fleet) -> None:
    taken_over = threading.Event()
    pool.handler("work")(lambda *_: taken_over.wait(PATIENCE))
    work = fleet.add("a")
    with working(worker_of(pool, fleet)):
        fleet.wait_for(lambda: work.state == "RUNNING")
        work.claim_id = "somebody-else"
        taken_over.set()
        fleet.wait_for(lambda: fleet.asked("outcomes"))
    assert (len(fleet.asked("outcomes")), work.outcome) == (1, None)


def test_a_fault_of_one_outcome_does_not_keep_the_others(pool: Pool, fleet: Fleet) -> None:
    gate = threading.Event()
    pool.handler("work")(lambda payload, _: gate.wait(PATIENCE) and payload)
    works = [fleet.add(str(number), payload=number) for number in range(5)]
    fleet.refused = {"3"}
    with working(worker_of(pool, fleet)):
        fleet.wait_for(lambda: all(one.state == "RUNNING" for one in works))
        gate.set()
        fleet.wait_for(lambda: all(one.outcome for one in works))
    told = {one.name: one.outcome["outcome"] for one in works if one.outcome}
    assert told == {"0": "complete", "1": "complete", "2": "complete", "3": "fail", "4": "complete"}
    assert works[3].outcome is not None
    assert "the result was refused" in works[3].outcome["error"]


class TestCheckpoints:
    """A later attempt goes on from the checkpoint that an earlier one kept."""

    def test_a_checkpoint_is_kept_under_a_rising_sequence(self, pool: Pool, fleet: Fleet) -> None:
        seen: list[Any] = []

        @pool.handler()
        def work(_: Any, ctx: Context) -> None:
            seen.append(ctx.last_checkpoint)
            ctx.checkpoint({"page": 1})
            ctx.checkpoint({"page": 2})
            seen.append(ctx.last_checkpoint)

        work_ = fleet.add("a", checkpoint={"attempt": 1, "sequence": 7, "value": {"page": 0}}, attempt=2)
        with working(worker_of(pool, fleet)):
            fleet.wait_for(ended(work_))
        assert seen == [Checkpoint(1, 7, {"page": 0}), Checkpoint(2, 9, {"page": 2})]
        assert work_.checkpoint == {"attempt": 2, "sequence": 9, "value": {"page": 2}}

    def test_a_checkpoint_whose_answer_is_lost_is_kept_once_more(self, pool: Pool, fleet: Fleet) -> None:
        @pool.handler()
        def work(_: Any, ctx: Context) -> None:
            ctx.checkpoint(1)

        fleet.fates["checkpoints"] = ["lost", 503]
        work_ = fleet.add("a")
        with working(worker_of(pool, fleet)):
            fleet.wait_for(ended(work_))
        assert [one["sequence"] for one in fleet.asked("checkpoints")] == [1, 1, 1]
        assert work_.outcome is not None
        assert work_.outcome["outcome"] == "complete"

    def test_a_checkpoint_of_an_attempt_that_is_over_is_refused(self, pool: Pool, fleet: Fleet) -> None:
        raised: list[BaseException] = []

        @pool.handler()
        def work(_: Any, ctx: Context) -> None:
            fleet.works["a"].claim_id = "somebody-else"
            try:
                ctx.checkpoint(1)
            except BaseException as error:
                raised.append(error)
                raise

        work_ = fleet.add("a")
        with working(worker_of(pool, fleet)):
            fleet.wait_for(lambda: raised)
        assert isinstance(raised[0], Lost)
        assert (work_.outcome, work_.checkpoint) == (None, None)


class TestDraining:
    """A worker that is told to end."""

    @pytest.fixture
    def gate(self) -> threading.Event:
        return threading.Event()

    @pytest.fixture
    def begun(self, pool: Pool, gate: threading.Event) -> threading.Event:
        """Set when the handler has begun, which goes on until the gate opens."""
        begun = threading.Event()

        @pool.handler()
        def work(*_: Any) -> str:
            begun.set()
            gate.wait(PATIENCE)
            return "done"

        return begun

    def test_handlers_may_end_within_the_drain_time(
        self, pool: Pool, fleet: Fleet, begun: threading.Event, gate: threading.Event
    ) -> None:
        work = fleet.add("a")
        worker = worker_of(pool, fleet, drain=PATIENCE)
        with working(worker):
            assert begun.wait(PATIENCE)
            worker.drain()
            assert worker._receiving._is_over.wait(PATIENCE)
            later = fleet.add("b")
            time.sleep(0.2)
            assert work.outcome is None
            gate.set()
            fleet.wait_for(ended(work))
        assert work.outcome is not None
        assert work.outcome["result"] == "done"
        assert later.state == "WAITING"

    def test_what_does_not_end_in_time_is_handed_back_and_its_handler_told(self, pool: Pool, fleet: Fleet) -> None:
        begun, raised = threading.Event(), threading.Event()

        @pool.handler()
        def work(_: Any, ctx: Context) -> None:
            begun.set()
            try:
                while True:
                    ctx.heartbeat()
                    time.sleep(0.001)
            except Lost:
                raised.set()
                raise

        work_ = fleet.add("a")
        with working(worker_of(pool, fleet, drain=0.0)):
            assert begun.wait(PATIENCE)
        assert work_.outcome == {"token": work_.token, "outcome": "handback"}
        assert raised.wait(PATIENCE)
        assert len(fleet.asked("outcomes")) == 1

    def test_a_second_call_hands_back_at_once(
        self, pool: Pool, fleet: Fleet, begun: threading.Event, gate: threading.Event
    ) -> None:
        work = fleet.add("a")
        worker = worker_of(pool, fleet, drain=10_000.0)
        with working(worker):
            assert begun.wait(PATIENCE)
            worker.drain()
        assert work.outcome is not None
        assert work.outcome["outcome"] == "handback"
        gate.set()

    def test_what_has_not_begun_is_handed_back_at_once(self, pool: Pool, fleet: Fleet, begun: threading.Event) -> None:
        work = fleet.add("a", start_in_ms=600_000)
        worker = worker_of(pool, fleet, drain=PATIENCE)
        with working(worker):
            fleet.wait_for(lambda: work.state == "RUNNING")
            worker.drain()
            fleet.wait_for(ended(work))
        assert work.outcome is not None
        assert (work.outcome["outcome"], begun.is_set()) == ("handback", False)

    def test_what_an_open_poll_still_brings_goes_back(self, pool: Pool, fleet: Fleet, begun: threading.Event) -> None:
        queue, polling, brought = fleet.queues["normal"], threading.Event(), threading.Event()
        receive = queue.receive

        def late(most: int, wait_seconds: int) -> Any:
            polling.set()
            brought.wait(PATIENCE)
            return receive(most, wait_seconds)

        queue.receive = late  # type: ignore[method-assign]
        worker = worker_of(pool, fleet)
        with working(worker):
            assert polling.wait(PATIENCE)
            work = fleet.add("a")
            worker.drain()
            assert worker._receiving._is_over.wait(PATIENCE)
            brought.set()
        assert (work.state, [one.body for one in queue.visible]) == ("WAITING", ["a"])
        assert fleet.asked("claims") == []
        assert not begun.is_set()

    def test_a_hand_back_without_an_answer_is_told_again(
        self, pool: Pool, fleet: Fleet, begun: threading.Event, gate: threading.Event
    ) -> None:
        work = fleet.add("a")
        fleet.fates["outcomes"] = ["lost", 503]
        with working(worker_of(pool, fleet)):
            assert begun.wait(PATIENCE)
        assert work.outcome is not None
        assert work.outcome["outcome"] == "handback"
        gate.set()


class TestPriorities:
    """From which queue is taken next."""

    def drawn(self, draws: Draws, at_work: tuple[str, ...], count: int) -> dict[str, int]:
        found = dict.fromkeys(PRIORITIES, 0)
        for _ in range(count):
            name = draws.next(at_work)
            draws.charge(name, 1)
            found[name] += 1
        return found

    def test_all_with_work_share_8_to_4_to_1(self) -> None:
        assert self.drawn(Draws(PRIORITIES), PRIORITIES, 1_300) == {"high": 800, "normal": 400, "low": 100}

    def test_high_does_not_wait_for_a_herd(self) -> None:
        draws = Draws(PRIORITIES)
        self.drawn(draws, ("normal", "low"), 1_000)
        assert draws.next(PRIORITIES) == "high"
        assert self.drawn(draws, PRIORITIES, 130) == pytest.approx({"high": 80, "normal": 40, "low": 10}, abs=1)

    def test_a_queue_that_had_no_work_makes_up_for_nothing(self) -> None:
        draws = Draws(PRIORITIES)
        self.drawn(draws, ("high",), 10_000)
        found = self.drawn(draws, PRIORITIES, 1_300)
        assert found == {"high": pytest.approx(800, abs=10), "normal": pytest.approx(400, abs=10), "low": found["low"]}
        assert 90 <= found["low"] <= 110

    def test_what_came_with_the_first_poll_of_a_queue_counts(self) -> None:
        draws = Draws(PRIORITIES)
        self.drawn(draws, ("high",), 1_000)
        for number, name in enumerate(("low", "normal", "high")):
            draws.join(("low", "normal", "high")[: number + 1])
            draws.charge(name, 10)
        found = self.drawn(draws, PRIORITIES, 1_300 - 30)
        assert found["low"] + 10 == pytest.approx(100, abs=2)

    def test_herds_one_after_the_other_leave_no_debt(self) -> None:
        draws = Draws(PRIORITIES)
        for name in ("low", "normal", "high"):
            self.drawn(draws, (name,), 1_000)
        assert self.drawn(draws, PRIORITIES, 1_300)["low"] == pytest.approx(100, abs=2)

    def test_a_poll_that_finds_nothing_by_chance_costs_a_queue_nothing(self) -> None:
        draws, found = Draws(PRIORITIES), dict.fromkeys(PRIORITIES, 0)
        for number in range(1_300):
            # High seems to be empty in one draw of five.
            name = draws.next(("normal", "low") if number % 5 == 0 else PRIORITIES)
            draws.charge(name, 1)
            found[name] += 1
        assert found["low"] == pytest.approx(100, abs=5)
        assert found["high"] == pytest.approx(800, abs=20)

    def test_it_is_messages_that_count_and_not_calls(self) -> None:
        draws, found = Draws(PRIORITIES), dict.fromkeys(PRIORITIES, 0)
        for number in range(3_000):
            name = draws.next(PRIORITIES)
            # Ten slots are asked for; low has just one message at a time.
            draws.charge(name, 10)
            got = 1 if name == "low" else number % 10 + 1
            draws.charge(name, got - 10)
            found[name] += got
        whole = sum(found.values())
        assert found["low"] / whole == pytest.approx(1 / 13, rel=0.02)
        assert found["high"] / whole == pytest.approx(8 / 13, rel=0.02)

    def test_a_worker_takes_from_all_its_queues(self, pool: Pool) -> None:
        fleet = Fleet(Monotonic(), queues={one: MemoryQueue() for one in PRIORITIES})
        order = list[str]()
        pool.handler("work")(lambda payload, _: order.append(payload))
        works = [fleet.add(f"{one}-{number}", payload=one, priority=one) for one in PRIORITIES for number in range(130)]
        with working(worker_of(pool, fleet, concurrency=2)):
            fleet.wait_for(lambda: all(one.outcome for one in works))
        first = order[:130]
        # All three have work then; slots are taken in small groups.
        assert first.count("high") > first.count("normal") > first.count("low") > 0


@pytest.mark.parametrize("fault", [None, OSError("no route"), RuntimeError("the credentials are expired")])
def test_life_is_told_by_polls_that_end_whatever_they_bring(pool: Pool, fault: Exception | None) -> None:
    clock = VirtualClock()
    fleet, queue = Fleet(clock), MemoryQueue()
    fleet.queues["normal"] = queue
    queue.faults = [fault] * 1_000_000 if fault else []
    pool.handler("work")(lambda *_: None)
    worker = worker_of(pool, fleet, clock)

    def polled(seen: int) -> bool:
        # Its thread may begin to wait behind any of these steps.
        clock.advance(100)
        return queue.receives > seen and worker.seconds_since_receive() <= 100

    with working(worker, clock):
        for _ in range(3):
            fleet.wait_for(partial(polled, queue.receives))


def test_a_poll_that_does_not_end_is_no_life(pool: Pool) -> None:
    clock, asked, back = VirtualClock(), threading.Event(), threading.Event()
    fleet, queue = Fleet(clock), MemoryQueue()
    fleet.queues["normal"] = queue

    def hang(*_: Any) -> tuple[()]:
        asked.set()
        back.wait(PATIENCE)
        return ()

    queue.receive = hang  # type: ignore[method-assign,assignment]
    pool.handler("work")(lambda *_: None)
    worker = worker_of(pool, fleet, clock)
    with working(worker, clock):
        assert asked.wait(PATIENCE)
        clock.advance(300)
        assert worker.seconds_since_receive() >= 300
        back.set()


def test_a_worker_whose_slots_are_all_busy_asks_for_nothing_and_is_alive(pool: Pool) -> None:
    clock, begun, gate = VirtualClock(), threading.Event(), threading.Event()
    fleet = Fleet(clock)

    @pool.handler()
    def work(*_: Any) -> None:
        begun.set()
        gate.wait(PATIENCE)

    fleet.add("a")
    worker = worker_of(pool, fleet, clock, concurrency=1)
    with working(worker):
        assert begun.wait(PATIENCE)
        clock.advance(80)
        assert worker.seconds_since_receive() == 0
        gate.set()
        fleet.wait_for(ended(fleet.works["a"]))


def test_a_handler_has_one_function(pool: Pool) -> None:
    pool.handler("work")(lambda *_: None)
    with pytest.raises(ValueError, match="has a handler work already"):
        pool.handler("work")(lambda *_: None)


def test_a_worker_without_handlers_is_a_mistake(pool: Pool, fleet: Fleet) -> None:
    with pytest.raises(ValueError, match="has no handler here"):
        worker_of(pool, fleet)


@pytest.mark.parametrize("progress", [-0.1, 1.1])
def test_progress_is_a_part_of_one(pool: Pool, fleet: Fleet, progress: float) -> None:
    @pool.handler()
    def work(_: Any, ctx: Context) -> None:
        ctx.heartbeat(progress)

    work_ = fleet.add("a")
    with working(worker_of(pool, fleet)):
        fleet.wait_for(ended(work_))
    assert work_.outcome is not None
    assert "has to be from 0 to 1" in work_.outcome["error"]
