"""A worker's loggers: a line tells where it comes from, and logging that raises stops nobody."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from clockwork_client.worker import Fail, Lost, Pool
from clockwork_client.worker.logs import Log, logger
from tests.sdk.fleet import Fleet, VirtualClock
from tests.sdk.workshop import ended, told, worker_of, working

NAME = "clockwork_client.worker.a_test_of_logs"


def raising(error: BaseException) -> Callable[[logging.LogRecord], bool]:
    def breaks(_: logging.LogRecord) -> bool:
        raise error

    return breaks


@pytest.fixture
def log() -> Iterator[Log]:
    yield logger(NAME)
    logging.getLogger(NAME).filters.clear()


@pytest.mark.parametrize("how", ["info", "warning", "error", "exception"])
def test_a_line_tells_its_level_and_the_place_it_comes_from(log: Log, how: str, caplog: Any) -> None:
    caplog.set_level(logging.INFO, NAME)
    try:
        raise ValueError("bad")
    except ValueError:
        getattr(log, how)("%s is %d", "one", 1)
    (record,) = caplog.records
    assert record.getMessage() == "one is 1"
    assert record.levelname == {"exception": "ERROR"}.get(how, how.upper())
    assert record.funcName == "test_a_line_tells_its_level_and_the_place_it_comes_from"
    assert bool(record.exc_info) is (how == "exception")


@pytest.mark.parametrize("how", ["info", "warning", "error", "exception"])
@pytest.mark.parametrize("error", [LookupError("request_id"), SystemExit(3), RecursionError()])
def test_logging_that_raises_stops_nobody(log: Log, how: str, error: BaseException) -> None:
    logging.getLogger(NAME).setLevel(logging.INFO)
    logging.getLogger(NAME).addFilter(raising(error))
    getattr(log, how)("a line")


class Unprintable(Exception):
    def __str__(self) -> str:
        raise KeyError("text")


@pytest.fixture
def no_logs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each line that a worker logs raise."""
    for module in ("handlers", "loop", "outcomes", "worker"):
        monkeypatch.setattr(
            logging.getLogger(f"clockwork_client.worker.{module}"), "filters", [raising(OSError("disk full"))]
        )


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize(
    ("raised", "said"),
    [
        (ValueError("x"), {"outcome": "fail", "error": "ValueError: x"}),
        (Unprintable(), {"outcome": "fail", "error": "Unprintable: its text cannot be made"}),
        (Fail("x", retry_after=-3), {"outcome": "fail", "error": "x", "retryAfterSeconds": 0.0}),
    ],
    ids=lambda one: type(one).__name__,
)
@pytest.mark.usefixtures("no_logs")
def test_a_log_that_fails_costs_no_hand_and_no_outcome(
    pool: Pool, fleet: Fleet, raised: Exception, said: dict[str, Any], is_async: bool
) -> None:
    def work(*_: Any) -> None:
        raise raised

    async def work_async(*_: Any) -> None:
        raise raised

    pool.handler("work")(work_async if is_async else work)
    works = [fleet.add(str(number)) for number in range(3)]
    worker = worker_of(pool, fleet, concurrency=1)
    with working(worker):
        fleet.wait_for(ended(*works))
        fleet.wait_for(lambda: worker._slots.free == 1 and worker._desk.is_empty())
    assert [told(one) for one in works] == [said] * 3


@pytest.mark.usefixtures("no_logs")
def test_a_log_that_fails_at_what_cannot_begin_or_was_lost_costs_no_hand(pool: Pool) -> None:
    clock = VirtualClock()
    fleet = Fleet(clock, lease_seconds=10.0)

    @pool.handler()
    def work(*_: Any) -> None:
        clock.advance(11)
        raise Lost

    pool.handler("good")(lambda *_: "ok")
    fleet.slow = lambda what: clock.advance(11) if what == "claims" and "late" in fleet.works else None
    worker = worker_of(pool, fleet, clock, concurrency=1)
    with working(worker, clock):
        fleet.add("lost")
        fleet.wait_for(lambda: fleet.works["lost"].state == "RUNNING" and worker._desk.is_empty())
        fleet.add("late", handler="good")
        fleet.wait_for(lambda: fleet.works["late"].state == "RUNNING" and worker._desk.is_empty())
        fleet.works.pop("late")
        good = fleet.add("good", handler="good")
        fleet.wait_for(ended(good))
        fleet.wait_for(lambda: worker._slots.free == 1)
