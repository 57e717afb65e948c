"""Heartbeats of a worker: whatever a handler tells, or a call meets, the others keep their claims."""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

import pytest
from botocore.credentials import Credentials
from botocore.exceptions import ClientError

from clockwork_client.transport import Request
from clockwork_client.worker import Context, Pool
from clockwork_client.worker.attempt import Attempt
from clockwork_client.worker.beats import Beats
from clockwork_client.worker.clock import Monotonic
from clockwork_client.worker.desk import Desk
from tests.sdk.fleet import PATIENCE, Fleet, VirtualClock
from tests.sdk.workshop import ended, told, worker_of, working


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def fleet(clock: VirtualClock) -> Fleet:
    return Fleet(clock)


class Signing(Credentials):
    """Credentials that meet something in the threads that send heartbeats."""

    def __init__(self, meet: Callable[[], None]) -> None:
        super().__init__("AKIAIOSFODNN7EXAMPLE", "x")
        self.meet = meet

    def get_frozen_credentials(self) -> Any:
        if threading.current_thread().name.startswith("clockwork-beat"):
            self.meet()
        return super().get_frozen_credentials()


def pass_time(fleet: Fleet, clock: VirtualClock, seconds: int) -> None:
    """Let time pass in small steps, each of which heartbeats may follow; a machine that is busy gets the time to."""
    for _ in range(seconds):
        clock.advance(1)
        time.sleep(0.002)
        until = time.monotonic() + 2
        while 0 < min(one.lease_until for one in fleet.works.values()) - clock.now() < 45 and time.monotonic() < until:
            time.sleep(0.005)


@pytest.mark.parametrize(
    ("progress", "message", "news"),
    [
        (Decimal("0.5"), None, {"progress": 0.5}),
        (1, None, {"progress": 1}),
        (None, "file \udce4.pdf", {"message": "file ?.pdf"}),
    ],
)
def test_news_are_told_as_json_has_them(
    pool: Pool, fleet: Fleet, clock: VirtualClock, progress: Any, message: Any, news: dict[str, Any]
) -> None:
    begun, gate = threading.Barrier(3), threading.Event()

    @pool.handler()
    def work(payload: Any, ctx: Context) -> str:
        if payload == "tells":
            ctx.heartbeat(progress, message)
        begun.wait(PATIENCE)
        gate.wait(PATIENCE)
        return "lost" if ctx.lost else "kept"

    works = [fleet.add(one, payload=one) for one in ("tells", "works")]
    with working(worker_of(pool, fleet, clock), clock):
        begun.wait(PATIENCE)
        pass_time(fleet, clock, 120)
        gate.set()
        fleet.wait_for(ended(*works))
    assert [told(one)["result"] for one in works] == ["kept", "kept"]
    beats = [one for call in fleet.asked("heartbeats") for one in call["heartbeats"] if one["token"] == works[0].token]
    assert {name: one for name, one in beats[0].items() if name != "token"} == news


@pytest.mark.parametrize(
    ("progress", "message", "said"),
    [
        (True, None, "TypeError: the progress is True"),
        ("0.5", None, "TypeError: the progress is '0.5'"),
        (b"1", None, "TypeError: the progress is b'1'"),
        ([1], None, "TypeError: the progress is [1]"),
        pytest.param(10**400, None, "TypeError: the progress is 1000", id="huge"),
        (math.nan, None, "ValueError: the progress is nan; it has to be from 0 to 1"),
        (math.inf, None, "ValueError: the progress is inf; it has to be from 0 to 1"),
        (None, ["a"], "TypeError: the message is a list; it has to be a str"),
        (None, b"half", "TypeError: the message is a bytes; it has to be a str"),
        (None, 5, "TypeError: the message is a int; it has to be a str"),
    ],
)
def test_what_cannot_be_told_is_the_handlers_own_error(
    pool: Pool, fleet: Fleet, progress: Any, message: Any, said: str
) -> None:
    @pool.handler()
    def work(_: Any, ctx: Context) -> None:
        ctx.heartbeat(progress, message)

    work_ = fleet.add("a")
    with working(worker_of(pool, fleet)):
        fleet.wait_for(ended(work_))
    assert told(work_)["error"].startswith(said)


def test_news_that_the_api_refuses_cost_nobody_a_heartbeat(pool: Pool, clock: VirtualClock) -> None:
    class Strict(Fleet):
        def _heartbeats(self, body: Mapping[str, Any], request: Request) -> tuple[int, Any]:
            if any(one.get("message") == "bad" for one in body["heartbeats"]):
                return 422, {"detail": "faults", "errors": [{"pointer": "/heartbeats/0", "detail": "has a fault"}]}
            return super()._heartbeats(body, request)

    fleet, gate, begun = Strict(clock), threading.Event(), threading.Semaphore(0)

    @pool.handler()
    def work(payload: Any, ctx: Context) -> str:
        begun.release()
        while not gate.wait(0.001) and not ctx.lost:
            if payload == 3:
                ctx.heartbeat(message="bad")  # again and again
        return "lost" if ctx.lost else "kept"

    works = [fleet.add(str(number), payload=number) for number in range(10)]
    with working(worker_of(pool, fleet, clock), clock):
        assert all(begun.acquire(timeout=PATIENCE) for _ in works)
        pass_time(fleet, clock, 120)
        gate.set()
        fleet.wait_for(ended(*works))
    assert {told(one)["result"] for one in works} == {"kept"}
    # With each heartbeat that is refused one follows: eight rounds of 15 s.
    assert len(fleet.asked("heartbeats")) <= 20


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError("Credentials were refreshed, but the refreshed credentials are still expired."),
        ClientError({"Error": {"Code": "Throttling", "Message": "Rate exceeded"}}, "AssumeRoleWithWebIdentity"),
        KeyError("a defect"),
    ],
    ids=lambda one: type(one).__name__,
)
def test_one_call_that_cannot_be_made_is_made_again(
    pool: Pool, fleet: Fleet, clock: VirtualClock, error: Exception
) -> None:
    faults, begun, gate = [error] * 2, threading.Event(), threading.Event()

    def meet() -> None:
        if faults:
            raise faults.pop()

    @pool.handler()
    def work(_: Any, ctx: Context) -> str:
        ctx.heartbeat(0.5)
        begun.set()
        gate.wait(PATIENCE)
        return "lost" if ctx.lost else "kept"

    work_ = fleet.add("a")
    with working(worker_of(pool, fleet, clock, credentials=Signing(meet)), clock):
        assert begun.wait(PATIENCE)
        pass_time(fleet, clock, 120)
        gate.set()
        fleet.wait_for(ended(work_))
    assert (faults, told(work_)["result"]) == ([], "kept")


def test_a_defect_beside_the_calls_does_not_end_the_heartbeats(pool: Pool, fleet: Fleet, clock: VirtualClock) -> None:
    begun, gate = threading.Event(), threading.Event()

    @pool.handler()
    def work(_: Any, ctx: Context) -> str:
        begun.set()
        gate.wait(PATIENCE)
        return "lost" if ctx.lost else "kept"

    work_ = fleet.add("a")
    worker = worker_of(pool, fleet, clock)
    beat, defects = worker._beats.beat, [ZeroDivisionError()]

    def defective() -> None:
        if begun.is_set() and defects:
            raise defects.pop()
        beat()

    worker._beats.beat = defective  # type: ignore[method-assign]
    with working(worker, clock):
        assert begun.wait(PATIENCE)
        pass_time(fleet, clock, 120)
        gate.set()
        fleet.wait_for(ended(work_))
    assert (defects, told(work_)["result"]) == ([], "kept")


def started(number: int) -> dict[str, Any]:
    names = dict.fromkeys(("executionId", "jobId", "clientId", "handler"), "a")
    return {**names, "token": f"a.{number}", "attempt": 1, "startInMs": 0, "leaseInMs": 90_000, "deadlineInMs": 10**8}


class Counted:
    """Counts heartbeats by the call, each of which renews."""

    def __init__(self) -> None:
        self.sizes: list[int] = []
        self.gate = threading.Event()
        self.gate.set()

    def beat(self, beats: list[Any], _: float) -> list[Any]:
        self.sizes.append(len(beats))
        self.gate.wait(PATIENCE)
        return [{"outcome": "ok", "leaseInMs": 90_000} for _ in beats]


def test_a_claim_in_between_sends_no_heartbeat_before_it_is_due(clock: VirtualClock) -> None:
    desk, counted = Desk(), Counted()
    beats = Beats(desk, counted, clock)  # type: ignore[arg-type]
    for number in range(10):
        desk.put(Attempt(started(number), clock.now(), clock.now()))
        clock.advance(0.1)
    for _ in range(14):
        beats.beat()  # as each claim wakes it
        clock.advance(1)
    assert counted.sizes == []
    beats.beat()
    beats._senders.shutdown()
    assert counted.sizes == [10]


def test_a_call_that_waited_too_long_for_its_thread_revives_nothing(clock: VirtualClock) -> None:
    desk, counted = Desk(), Counted()
    beats = Beats(desk, counted, clock)  # type: ignore[arg-type]
    counted.gate.clear()
    for number in range(900):
        desk.put(Attempt(started(number), clock.now(), clock.now()))
    clock.advance(15)
    beats.beat()
    while len(counted.sizes) < 8:
        time.sleep(0.001)
    clock.advance(90)
    beats.beat()
    assert all(one.over for one in desk.all())
    counted.gate.set()
    beats._senders.shutdown()
    assert counted.sizes == [100] * 8


def test_an_async_handler_is_stopped_in_time_while_a_call_does_not_end(pool: Pool) -> None:
    fleet, gate, begun, stopped_at = Fleet(Monotonic(), lease_seconds=0.9), threading.Event(), threading.Event(), []

    @pool.handler()
    async def work(*_: Any) -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            stopped_at.append(time.monotonic())

    def meet() -> None:
        gate.wait(PATIENCE)

    fleet.add("a")
    with working(worker_of(pool, fleet, credentials=Signing(meet))):
        assert begun.wait(PATIENCE)
        began = time.monotonic()
        try:
            fleet.wait_for(lambda: stopped_at or time.monotonic() > began + 5)
        finally:
            gate.set()
    assert stopped_at[0] - began < 2
