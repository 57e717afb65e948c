"""Which heartbeats share a call of a worker, for how long it is sent, and what follows on one that fails."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from clockwork_client.errors import ClockworkError, NotAllowed, NotCertain, TooManyRequests
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


def claimed(clock: VirtualClock, name: str, lease: float = 90.0) -> Attempt:
    names = dict.fromkeys(("executionId", "jobId", "clientId", "handler", "token"), name)
    lease_ms = round(lease * 1000)
    started = {**names, "attempt": 1, "startInMs": 0, "leaseInMs": lease_ms, "deadlineInMs": 10**8}
    return Attempt(started, clock.now(), clock.now())


class Scripted:
    """Answers calls: with the errors given at first, and then so that each heartbeat renews."""

    def __init__(self, *errors: Exception, lease_ms: Any = 90_000) -> None:
        self.errors = list(errors)
        self.lease_ms = lease_ms
        #: For each call its heartbeats by their tokens, and the seconds it was given.
        self.calls: list[tuple[dict[str, Mapping[str, Any]], float]] = []

    def beat(self, beats: Sequence[Mapping[str, Any]], seconds: float) -> list[dict[str, Any]]:
        self.calls.append(({one["token"]: one for one in beats}, round(seconds, 3)))
        if self.errors:
            raise self.errors.pop(0)
        return [{"outcome": "ok", "leaseInMs": self.lease_ms} for _ in beats]

    def tokens(self) -> list[list[str]]:
        return [sorted(beats) for beats, _ in self.calls]


class Beating:
    """The heartbeats of these attempts, sent in a thread of their own each time a test says so."""

    def __init__(self, clock: VirtualClock, calls: Scripted, *attempts: Attempt) -> None:
        self._desk = Desk()
        for one in attempts:
            self._desk.put(one)
        self.beats = Beats(self._desk, calls, clock)  # type: ignore[arg-type]

    def beat(self) -> None:
        self.beats.beat()
        until = time.monotonic() + PATIENCE
        while self.beats._under_way:
            assert time.monotonic() < until
            time.sleep(0.001)


class TestACallHasTheTimeThatItsOwnKindAllows:
    def test_a_short_lease_shares_no_call_with_a_long_one(self, clock: VirtualClock) -> None:
        long, calls = claimed(clock, "long"), Scripted()
        clock.advance(14.8)
        beating = Beating(clock, calls, long, claimed(clock, "short", 2.0), claimed(clock, "middle", 3.0))
        clock.advance(0.6)
        beating.beat()
        assert sorted((sorted(beats), seconds) for beats, seconds in calls.calls) == [
            (["long"], 15.0),
            (["middle", "short"], 0.333),
        ]

    def test_a_short_lease_brings_no_long_one_forward(self, clock: VirtualClock) -> None:
        long, calls = claimed(clock, "long"), Scripted()
        clock.advance(13.8)
        beating = Beating(clock, calls, long, claimed(clock, "short", 2.0))
        clock.advance(0.4)
        beating.beat()
        assert calls.tokens() == [["short"]]

    def test_a_claim_that_is_nearly_over_goes_apart_from_those_that_are_not(self, clock: VirtualClock) -> None:
        late, calls = claimed(clock, "late"), Scripted()
        clock.advance(80)
        beating = Beating(clock, calls, late, claimed(clock, "young"))
        clock.advance(9)
        late.beaten_at = clock.now() - 15
        beating.beat()
        clock.advance(6)
        beating.beat()
        assert [(sorted(beats), seconds) for beats, seconds in calls.calls] == [(["late"], 1.0), (["young"], 15.0)]

    def test_a_call_has_a_hundred_of_one_kind(self, clock: VirtualClock) -> None:
        calls = Scripted()
        attempts = [claimed(clock, f"{number}", 90.0 if number % 2 else 2.0) for number in range(300)]
        beating = Beating(clock, calls, *attempts)
        for one in attempts:
            one.beaten_at = clock.now() - one.lease_seconds / 6
        beating.beat()
        assert sorted((len(beats), seconds) for beats, seconds in calls.calls) == [
            (50, 0.333),
            (50, 15.0),
            (100, 0.333),
            (100, 15.0),
        ]


class TestNews:
    """They are told once, and lost only if the API takes the call without them."""

    def told(self, clock: VirtualClock, *errors: Exception) -> list[object]:
        one, calls = claimed(clock, "a"), Scripted(*errors)
        beating = Beating(clock, calls, one)
        one.tell(None, "half")
        for _ in range(2):
            clock.advance(15)
            beating.beat()
        return [beats["a"].get("message") for beats, _ in calls.calls]

    def test_a_refusal_of_something_else_does_not_lose_them(self, clock: VirtualClock) -> None:
        refused = NotAllowed(403, "the signature is too old")
        assert self.told(clock, refused, refused) == ["half", None, "half"]

    def test_a_refusal_that_ends_without_them_does(self, clock: VirtualClock) -> None:
        assert self.told(clock, NotAllowed(403, "bad words")) == ["half", None, None]

    def test_no_answer_does_not_lose_them(self, clock: VirtualClock) -> None:
        assert self.told(clock, NotCertain("timed out")) == ["half", "half"]


def slow_down(seconds: float | None) -> TooManyRequests:
    refused = TooManyRequests(429, "slow down")
    refused.retry_after = seconds
    return refused


def away(seconds: float) -> ClockworkError:
    error = NotCertain("HTTP 503")
    error.__cause__ = slow_down(seconds)
    return error


@pytest.mark.parametrize(
    ("error", "lease", "seconds"),
    [
        (slow_down(5), 90, 5),
        (slow_down(60), 90, 15),
        (slow_down(None), 90, 1),
        (slow_down(60), 12, 2),
        (away(7), 90, 7),
        (NotCertain("timed out"), 90, 1),
        (NotCertain("timed out"), 3, 0.5),
    ],
    ids=str,
)
def test_a_pause_that_is_asked_for_is_kept_up_to_a_sixth_of_the_lease(
    clock: VirtualClock, error: Exception, lease: float, seconds: float
) -> None:
    calls = Scripted(error)
    beating = Beating(clock, calls, claimed(clock, "a", lease))
    clock.advance(lease / 6)
    beating.beat()
    clock.advance(seconds - 0.01)
    beating.beat()
    assert len(calls.calls) == 1
    clock.advance(0.02)
    beating.beat()
    assert len(calls.calls) == 2


@pytest.mark.parametrize("lease_ms", [10**400, math.inf, math.nan, "90000", True])
def test_a_lease_that_is_no_time_is_no_answer_about_this_one_alone(clock: VirtualClock, lease_ms: Any) -> None:
    one, calls = claimed(clock, "a"), Scripted(lease_ms=lease_ms)
    one.tell(None, "half")
    beating = Beating(clock, calls, one)
    for _ in range(2):
        clock.advance(15)
        beating.beat()
    assert [beats["a"].get("message") for beats, _ in calls.calls] == ["half", "half"]


def test_a_log_that_raises_sends_no_heartbeat_more() -> None:
    fleet, pool, gate = Fleet(Monotonic(), lease_seconds=3.0), Pool("batch-etl"), threading.Event()
    logger = logging.getLogger("clockwork_client.worker.beats")

    @pool.handler()
    def work(_: Any, ctx: Context) -> str:
        gate.wait(PATIENCE)
        return "lost" if ctx.lost else "kept"

    def breaks(_: logging.LogRecord) -> bool:
        raise LookupError("request_id")

    fleet.fates["heartbeats"] = [403] * 100_000
    work_ = fleet.add("a")
    logger.addFilter(breaks)
    try:
        with working(worker_of(pool, fleet)):
            fleet.wait_for(lambda: fleet.asked("heartbeats"))
            time.sleep(0.3)
            count = len(fleet.asked("heartbeats"))
            gate.set()
            fleet.wait_for(ended(work_))
    finally:
        logger.removeFilter(breaks)
    assert told(work_)["result"] == "kept"
    # One every half a second.
    assert count <= 3
