"""The worker tells the API how attempts ended, when the API refuses, is away, or is told what it cannot take."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Mapping
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from botocore.credentials import Credentials

from clockwork_client.transport import Request
from clockwork_client.worker import Fail, Pool
from clockwork_client.worker.clock import Monotonic
from tests.sdk.fleet import PATIENCE, Fleet, VirtualClock, Work
from tests.sdk.workshop import ended, told, worker_of, working


class Strict(Fleet):
    """Refuses outcomes with what the API's description does not allow; `alien` marks any text that it does not take."""

    def _outcomes(self, body: Mapping[str, Any], request: Request) -> tuple[int, Any]:
        for one in body["outcomes"]:
            later = one.get("retryAfterSeconds", 0)
            if not isinstance(later, (int, float)) or not 0 <= later <= 86_400 or "ä" in one.get("error", ""):
                return 422, {"detail": "faults", "errors": [{"pointer": "/outcomes", "detail": "has a fault"}]}
        return super()._outcomes(body, request)


@pytest.fixture
def fleet() -> Fleet:
    return Strict(Monotonic())


@pytest.mark.parametrize("status", [302, 401, 403, 404, 409, 429])
def test_work_that_is_done_stays_done_when_a_call_is_refused_for_anything_but_its_body(
    pool: Pool, fleet: Fleet, status: int
) -> None:
    pool.handler("work")(lambda *_: "done")
    fleet.fates["outcomes"] = [status] * 2
    work = fleet.add("a")
    with working(worker_of(pool, fleet)):
        fleet.wait_for(ended(work))
    assert told(work) == {"outcome": "complete", "result": "done"}


@pytest.mark.parametrize("status", [400, 413, 422])
def test_a_result_that_is_refused_for_itself_is_a_failure(pool: Pool, fleet: Fleet, status: int) -> None:
    pool.handler("work")(lambda *_: "done")
    fleet.fates["outcomes"] = [status]
    work = fleet.add("a")
    with working(worker_of(pool, fleet)):
        fleet.wait_for(ended(work))
    said = told(work)
    assert (said["outcome"], said["retryable"]) == ("fail", False)
    assert said["error"].startswith(f"the result was refused: {status}")


def test_credentials_that_cannot_be_renewed_once_lose_no_outcome(pool: Pool, fleet: Fleet) -> None:
    class Expired(Credentials):
        faults = 0

        def get_frozen_credentials(self) -> Any:
            if self.faults and threading.current_thread().name.startswith("clockwork-reports"):
                self.faults -= 1
                raise RuntimeError("the refreshed credentials are still expired")
            return super().get_frozen_credentials()

    credentials = Expired("AKIAIOSFODNN7EXAMPLE", "x")
    credentials.faults = 2
    pool.handler("work")(lambda *_: "done")
    work = fleet.add("a")
    with working(worker_of(pool, fleet, credentials=credentials)):
        fleet.wait_for(ended(work))
    assert told(work) == {"outcome": "complete", "result": "done"}


@pytest.mark.parametrize(
    ("retry_after", "seconds"),
    [
        (timedelta(minutes=5), 300),
        (Decimal("1.5"), 1.5),
        (-3, 0),
        (90_000, 86_400),
        (math.inf, 86_400),
        (-math.inf, 0),
        (math.nan, None),
        ("5 min", None),
        (True, None),
        pytest.param(10**400, None, id="huge"),
        ([1], None),
        (0, 0),
    ],
)
def test_a_failure_is_told_whatever_wait_it_asks_for(
    pool: Pool, fleet: Fleet, caplog: pytest.LogCaptureFixture, retry_after: Any, seconds: float | None
) -> None:
    def work(*_: Any) -> None:
        raise Fail("busy", retryable=False, retry_after=retry_after)

    pool.handler("work")(work)
    works = [fleet.add(str(number)) for number in range(3)]
    with caplog.at_level(logging.WARNING), working(worker_of(pool, fleet)):
        fleet.wait_for(ended(*works))
    wait = {} if seconds is None else {"retryAfterSeconds": seconds}
    assert all(told(one) == {"outcome": "fail", "error": "busy", "retryable": False, **wait} for one in works)
    assert ("a failure asks for a wait" in caplog.text) == (
        seconds is None or (seconds in (0, 86_400) and retry_after != 0)
    )


def test_a_failure_that_is_refused_for_its_words_is_told_without_them(pool: Pool, fleet: Fleet) -> None:
    gate = threading.Event()

    @pool.handler()
    def work(payload: Any, _: Any) -> str:
        gate.wait(PATIENCE)
        if payload == "bad":
            raise Fail("kein Drückerpapier, wär da nicht", retryable=False, retry_after=5)
        return "ok"

    works = [fleet.add(str(number), payload="bad" if number == 4 else "good") for number in range(10)]
    with working(worker_of(pool, fleet)):
        fleet.wait_for(lambda: all(one.state == "RUNNING" for one in works))
        gate.set()
        fleet.wait_for(ended(*works))
    said = told(works.pop(4))
    assert said == {"outcome": "fail", "error": "kein Dr\\xfcckerpapier, w\\xe4r da nicht", "retryable": False}
    assert all(told(one) == {"outcome": "complete", "result": "ok"} for one in works)


def test_what_is_refused_in_every_form_is_told_until_it_is_too_late(pool: Pool) -> None:
    clock = VirtualClock()
    fleet = Fleet(clock)

    @pool.handler()
    def work(*_: Any) -> None:
        raise ValueError("x")

    fleet.add("a")
    fleet.fates["outcomes"] = [422] * 100_000
    fleet.fates["heartbeats"] = [503] * 100_000
    worker = worker_of(pool, fleet, clock)
    with working(worker, clock):
        fleet.wait_for(lambda: fleet.asked("outcomes"))
        while clock.now() < 1_145:
            clock.advance(5)
            time.sleep(0.01)
        assert not worker._desk.is_empty()
        for _ in range(40):
            clock.advance(1)
            time.sleep(0.01)
        assert worker._desk.is_empty()


@pytest.mark.parametrize("depth", [900, 930, 960, 982, 986, 2_000])
def test_a_result_that_is_nested_too_deep_is_told_as_a_failure(pool: Pool, fleet: Fleet, depth: int) -> None:
    result: Any = 1
    for _ in range(depth):
        result = [result]
    pool.handler("work")(lambda *_: result)
    work = fleet.add("a")
    with working(worker_of(pool, fleet)):
        fleet.wait_for(ended(work))
    assert told(work)["outcome"] in ("complete", "fail")


def test_a_result_that_the_handler_still_changes_takes_no_other_outcome_with_it(pool: Pool, fleet: Fleet) -> None:
    shared: dict[str, Any] = {}
    gate = threading.Event()

    @pool.handler()
    def work(payload: Any, _: Any) -> Any:
        gate.wait(PATIENCE)
        return shared if payload == "bad" else "ok"

    works = [fleet.add(str(number), payload="bad" if number == 2 else "good") for number in range(5)]
    worker = worker_of(pool, fleet)
    put = worker._reports.put

    def spoilt(attempt: Any, outcome: dict[str, Any]) -> None:
        if outcome.get("result") is shared:
            shared["late"] = {1, 2}
        put(attempt, outcome)

    worker._reports.put = spoilt  # type: ignore[method-assign]
    with working(worker):
        fleet.wait_for(lambda: all(one.state == "RUNNING" for one in works))
        gate.set()
        fleet.wait_for(ended(*works))
    assert [told(one)["outcome"] for one in works] == ["complete", "complete", "fail", "complete", "complete"]
    assert "it cannot be encoded" in told(works[2])["error"]


def test_outcomes_that_are_unavailable_do_not_hold_up_another_for_each_of_them(pool: Pool) -> None:
    class Away(Fleet):
        def _outcomes(self, body: Mapping[str, Any], request: Request) -> tuple[int, Any]:
            if len(body["outcomes"]) == 1 and body["outcomes"][0]["token"].startswith("good"):
                return super()._outcomes(body, request)
            return 200, {"outcomes": [self._of(one, request) for one in body["outcomes"]]}

        def _of(self, one: Any, request: Request) -> Any:
            if not one["token"].startswith("good") and not back.is_set():
                return {"outcome": "unavailable"}
            return super()._outcomes({"outcomes": [one]}, request)[1]["outcomes"][0]

    gate, back, fleet = threading.Event(), threading.Event(), Away(Monotonic())
    pool.handler("work")(lambda payload, _: gate.wait(PATIENCE) and None)
    away = [fleet.add(f"away-{number}") for number in range(20)]
    with working(worker_of(pool, fleet, concurrency=25)):
        fleet.wait_for(lambda: all(one.state == "RUNNING" for one in away))
        gate.set()
        fleet.wait_for(lambda: fleet.asked("outcomes"))
        began = time.monotonic()
        good: Work = fleet.add("good")
        fleet.wait_for(ended(good))
        # Two threads pause for half a second a batch; a pause for each outcome would take five.
        assert time.monotonic() - began < 2.5
        back.set()
        fleet.wait_for(ended(*away))
