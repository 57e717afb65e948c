"""Handlers that a worker runs: whatever one raises, ends or is made of, its slot comes back and the others go on."""

from __future__ import annotations

import asyncio
import functools
import logging
import re
import sys
import threading
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from clockwork_client import pool as to_pool
from clockwork_client.testing import VirtualClockwork, run_handler
from clockwork_client.worker import Context, Fail, Lost, Pool
from clockwork_client.worker.worker import queue_urls
from tests.sdk.fleet import PATIENCE, Fleet, VirtualClock
from tests.sdk.workshop import ended, told, worker_of, working


class Unprintable(Exception):
    def __str__(self) -> str:
        return self.args[0]  # type: ignore[no-any-return]  # a dict: str() raises TypeError


class Exits(Exception):
    def __str__(self) -> str:
        sys.exit(3)


class Own(Fail):
    def __init__(self, month: int) -> None:
        Exception.__init__(self, f"no month {month}")


class UnprintableFail(Fail):
    def __str__(self) -> str:
        raise KeyError("text")


@pytest.mark.parametrize(
    ("raised", "said"),
    [
        (Unprintable({"code": 1}), "Unprintable: its text cannot be made"),
        (Exits(), "Exits: its text cannot be made"),
        (Own(13), "no month 13"),
        (UnprintableFail("x"), "its text cannot be made"),
        (asyncio.CancelledError(), None),
        (GeneratorExit(), None),
    ],
    ids=lambda one: type(one).__name__,
)
@pytest.mark.parametrize("is_async", [False, True])
def test_whatever_is_raised_is_told_and_its_hand_comes_back(
    pool: Pool, fleet: Fleet, raised: BaseException, said: str | None, is_async: bool
) -> None:
    def work(*_: Any) -> None:
        raise raised

    async def work_async(*_: Any) -> None:
        raise raised

    pool.handler("work")(work_async if is_async else work)
    pool.handler("good")(lambda *_: "ok")
    bad = [fleet.add(str(number)) for number in range(3)]
    worker = worker_of(pool, fleet, concurrency=1)
    with working(worker):
        good = fleet.add("good", handler="good")
        fleet.wait_for(ended(*bad, good))
        fleet.wait_for(lambda: worker._slots.free == 1)
    assert {told(one)["outcome"] for one in bad} == {"fail"}
    assert said is None or {told(one)["error"] for one in bad} == {said}


@pytest.mark.parametrize("is_async", [False, True])
def test_a_handler_that_says_lost_while_its_claim_is_well_has_failed(pool: Pool, fleet: Fleet, is_async: bool) -> None:
    def work(*_: Any) -> None:
        raise Lost("my partition is gone")

    async def work_async(*_: Any) -> None:
        raise Lost("my partition is gone")

    pool.handler("work")(work_async if is_async else work)
    one = fleet.add("a")
    with working(worker_of(pool, fleet)):
        fleet.wait_for(ended(one))
    assert told(one) == {"outcome": "fail", "error": "Lost: my partition is gone"}


def test_the_kit_takes_a_lost_that_is_the_handlers_own_as_a_worker_does(pool: Pool) -> None:
    @pool.handler()
    def work(*_: Any) -> None:
        raise Lost("my partition is gone")

    virtual = VirtualClockwork(pools=["batch-etl"])
    virtual.work(pool)
    cw = virtual.client("acme", allowed_pools=["batch-etl"])
    job = cw.schedule(to_pool("batch-etl", "work"), in_=1)
    virtual.advance(seconds=5)
    (execution,) = cw.executions.list(job.job_id)
    assert execution.attempts[0].error == "Lost: my partition is gone"


async def _exit() -> None:
    sys.exit(3)


async def _stop() -> None:
    asyncio.get_running_loop().stop()


async def _interrupt() -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize("end", [_exit, _stop, _interrupt])
def test_a_task_that_ends_the_loop_ends_no_other_handler(pool: Pool, fleet: Fleet, end: Callable[[], Any]) -> None:
    gate = threading.Event()

    @pool.handler()
    async def bad(*_: Any) -> None:
        await asyncio.create_task(end())

    @pool.handler()
    async def good(*_: Any) -> str:
        while not gate.is_set():
            await asyncio.sleep(0.001)
        return "ok"

    goods = [fleet.add(f"good-{number}", handler="good") for number in range(3)]
    with working(worker_of(pool, fleet)):
        fleet.wait_for(lambda: all(one.state == "RUNNING" for one in goods))
        bads = [fleet.add(f"bad-{number}", handler="bad") for number in range(2)]
        fleet.wait_for(ended(*bads))
        gate.set()
        later = fleet.add("later", handler="good")
        fleet.wait_for(ended(later, *goods))
    assert {told(one)["result"] for one in (later, *goods)} == {"ok"}


def retried(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def wrapper(*given: Any) -> Any:
        return function(*given)

    return wrapper


async def do(payload: Any, ctx: Context) -> Any:
    await asyncio.sleep(0)
    ctx.heartbeat(0.5)
    return {"did": payload}


class Doing:
    async def __call__(self, payload: Any, ctx: Context) -> Any:
        return await do(payload, ctx)


class Awaitable:
    def __init__(self, *given: Any) -> None:
        self.given = given

    def __await__(self) -> Iterator[Any]:
        return do(*self.given).__await__()


ASYNC = [do, retried(do), Doing(), functools.partial(do), functools.partial(Doing()), Awaitable]


@pytest.mark.parametrize("function", ASYNC, ids=["plain", "decorated", "object", "partial", "partial-object", "own"])
def test_what_is_async_in_any_way_is_awaited_by_the_worker_and_in_the_kit(
    pool: Pool, fleet: Fleet, function: Callable[..., Any]
) -> None:
    pool.handler("work")(function)
    assert run_handler(pool, "work", 5) == {"did": 5}
    work = fleet.add("a", payload=5)
    with working(worker_of(pool, fleet)):
        fleet.wait_for(ended(work))
    assert told(work) == {"outcome": "complete", "result": {"did": 5}}


def test_an_async_handler_behind_a_decorator_is_stopped_at_its_next_await(pool: Pool) -> None:
    clock, begun, raised = VirtualClock(), threading.Event(), list[BaseException]()
    fleet = Fleet(clock)

    @pool.handler("work")
    @retried
    async def work(*_: Any) -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        except BaseException as error:
            raised.append(error)
            raise

    work_ = fleet.add("a")
    with working(worker_of(pool, fleet, clock), clock):
        assert begun.wait(PATIENCE)
        work_.is_cancelled = True
        clock.advance(15)
        fleet.wait_for(ended(work_))
    assert told(work_) == {"outcome": "cancelled"}
    assert isinstance(raised[0], asyncio.CancelledError)


def generates(*_: Any) -> Iterator[int]:
    yield 1


async def generates_async(*_: Any) -> Any:
    yield 1


class Generating:
    def __call__(self, *_: Any) -> Iterator[int]:
        yield 1


def test_a_handler_without_parentheses_is_told_how_to_be_written(pool: Pool) -> None:
    with pytest.raises(TypeError, match=r"write @pool\.handler\(\), with parentheses"):
        pool.handler(generates)  # type: ignore[arg-type]
    assert not pool.handlers


def test_a_handler_that_its_pool_does_not_list_is_told(pool: Pool, caplog: pytest.LogCaptureFixture) -> None:
    for name in ("listed", "strange"):
        pool.handler(name)(lambda payload, ctx: payload)
    state = SimpleNamespace(handlers=("listed", "other"), queue_urls={"normal": "https://queue"})
    cw = SimpleNamespace(pools=SimpleNamespace(get=lambda _: state))
    assert queue_urls(cw, pool) == {"normal": "https://queue"}  # type: ignore[arg-type]
    (told,) = caplog.messages
    assert "does not list strange" in told


def test_a_line_of_each_attempt_tells_how_it_ended(pool: Pool, fleet: Fleet, caplog: pytest.LogCaptureFixture) -> None:
    def bad(*_: Any) -> None:
        raise Fail("no month 13\nof this year")

    pool.handler("good")(lambda *_: "ok")
    pool.handler("bad")(bad)
    caplog.set_level(logging.INFO, "clockwork_client.worker.handlers")
    with working(worker_of(pool, fleet)):
        fleet.wait_for(ended(fleet.add("one", handler="good"), fleet.add("two", handler="bad")))
    lines = {one.split(": ")[0]: one for one in caplog.messages}
    assert re.fullmatch(r"good: one, attempt 1, complete after \d\.\d{3} s", lines["good"])
    told = r"bad: two, attempt 1, failed after \d\.\d{3} s: 'no month 13\\nof this year'"
    assert re.fullmatch(told, lines["bad"])


@pytest.mark.parametrize("function", [generates, generates_async, Generating(), functools.partial(generates)])
def test_a_generator_is_no_handler(pool: Pool, function: Callable[..., Any]) -> None:
    with pytest.raises(TypeError, match="the handler work is a generator"):
        pool.handler("work")(function)


@pytest.mark.parametrize("function", [generates, generates_async])
def test_a_generator_that_a_decorator_hides_is_a_failure_in_the_worker_and_in_the_kit(
    pool: Pool, fleet: Fleet, function: Callable[..., Any]
) -> None:
    def hidden(*given: Any) -> Any:
        return function(*given)

    pool.handler("work")(hidden)
    with pytest.raises(TypeError, match="returned a generator"):
        run_handler(pool, "work")
    work = fleet.add("a")
    with working(worker_of(pool, fleet)):
        fleet.wait_for(ended(work))
    assert told(work)["error"].startswith("TypeError: the handler work returned a generator")
    assert "retryable" not in told(work)


def test_the_kit_works_on_what_cannot_be_printed_or_waits_as_a_worker_does(pool: Pool) -> None:
    virtual = VirtualClockwork(pools=["batch-etl"])

    def work(*_: Any) -> None:
        raise Unprintable({"code": 1})

    pool.handler("work")(work)
    virtual.work(pool)
    cw = virtual.client("billing", allowed_pools=["batch-etl"])
    job = cw.schedule(to_pool("batch-etl", "work", timeout_seconds=3600), {}, in_=60)
    virtual.advance(minutes=2)
    (execution,) = cw.executions.list(job.job_id)
    assert execution.attempts[0].state == "FAILED"
