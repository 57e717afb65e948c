"""Checkpoints of a worker that are kept late, or at once: the last one stays the last."""

from __future__ import annotations

import asyncio
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from typing import Any

import pytest

from clockwork_client.errors import NotCertain
from clockwork_client.transport import NoAnswer, Request, Response
from clockwork_client.worker import Context, Pool, calls
from tests.sdk.fleet import PATIENCE, Fleet
from tests.sdk.workshop import ended, told, worker_of, working


def test_a_checkpoint_without_an_answer_cannot_come_behind_the_next_one(
    pool: Pool, fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The API does the first one later than the second."""
    monkeypatch.setattr(calls, "CHECKPOINT_SECONDS", 0.0)
    held: list[Request] = []
    raised: list[Exception] = []

    @pool.handler()
    def work(_: Any, ctx: Context) -> None:
        try:
            ctx.checkpoint("page 1")
        except NotCertain as error:
            raised.append(error)
        ctx.checkpoint("page 2")
        fleet(held[0])

    def stalls(request: Request) -> Response:
        if request.url.endswith("checkpoints") and not held:
            held.append(request)
            raise NoAnswer("timed out")
        return fleet(request)

    work_ = fleet.add("a")
    with working(worker_of(pool, fleet, transport=stalls)):
        fleet.wait_for(ended(work_))
    assert len(raised) == 1
    assert work_.checkpoint == {"attempt": 1, "sequence": 2, "value": "page 2"}


def test_checkpoints_that_are_kept_at_once_follow_one_another(pool: Pool, fleet: Fleet) -> None:
    @pool.handler()
    async def work(_: Any, ctx: Context) -> Any:
        await asyncio.gather(*(ctx.checkpoint_async(number) for number in range(5)))
        return ctx.last_checkpoint

    fleet.slow = lambda what: time.sleep(0.01) if what == "checkpoints" else None
    work_ = fleet.add("a")
    with working(worker_of(pool, fleet)):
        fleet.wait_for(ended(work_))
    assert [one["sequence"] for one in fleet.asked("checkpoints")] == [1, 2, 3, 4, 5]
    assert told(work_)["result"][1] == 5


def test_checkpoints_that_hang_leave_the_threads_of_the_loop_to_the_handlers(pool: Pool, fleet: Fleet) -> None:
    back, hanging, executor = threading.Event(), threading.Semaphore(0), ThreadPoolExecutor(3)

    @pool.handler()
    async def keep(_: Any, ctx: Context) -> None:
        asyncio.get_running_loop().set_default_executor(executor)
        await ctx.checkpoint_async(1)

    @pool.handler()
    async def work(*_: Any) -> str:
        return await asyncio.to_thread(lambda: "done")

    def slow(what: str) -> None:
        if what == "checkpoints":
            hanging.release()
            back.wait(PATIENCE)

    fleet.slow = slow
    keeping = [fleet.add(f"keep-{number}", handler="keep") for number in range(3)]
    with working(worker_of(pool, fleet)):
        try:
            assert all(hanging.acquire(timeout=PATIENCE) for _ in keeping)
            work_ = fleet.add("work")
            fleet.wait_for(ended(work_))
        finally:
            back.set()
        fleet.wait_for(ended(*keeping))


def test_checkpoints_of_one_attempt_that_wait_for_one_another_hold_no_thread(pool: Pool, fleet: Fleet) -> None:
    back, hanging = threading.Event(), threading.Event()

    @pool.handler()
    async def many(_: Any, ctx: Context) -> None:
        await asyncio.gather(*(ctx.checkpoint_async(number) for number in range(40)))

    @pool.handler()
    async def one(_: Any, ctx: Context) -> None:
        await ctx.checkpoint_async("one")

    def slow(what: str) -> None:
        if what == "checkpoints" and not hanging.is_set():
            hanging.set()
            back.wait(PATIENCE)

    fleet.slow = slow
    many_ = fleet.add("many", handler="many")
    with working(worker_of(pool, fleet)):
        try:
            assert hanging.wait(PATIENCE)
            one_ = fleet.add("one", handler="one")
            fleet.wait_for(ended(one_))
        finally:
            back.set()
        fleet.wait_for(ended(many_))
    assert [call["value"] for call in fleet.asked("checkpoints") if call["value"] != "one"] == list(range(40))


def test_a_plain_handler_may_run_one_loop_after_another(pool: Pool, fleet: Fleet) -> None:
    @pool.handler()
    def work(_: Any, ctx: Context) -> Any:
        async def keep(first: int) -> None:
            await asyncio.gather(*(ctx.checkpoint_async(first + number) for number in range(3)))

        asyncio.run(keep(0))
        asyncio.run(keep(3))
        return ctx.last_checkpoint.value if ctx.last_checkpoint else None

    work_ = fleet.add("a")
    with working(worker_of(pool, fleet)):
        fleet.wait_for(ended(work_))
    assert told(work_)["result"] == 5


def test_a_checkpoint_is_kept_among_the_variables_of_its_handler(pool: Pool, fleet: Fleet) -> None:
    tenant, seen = ContextVar("tenant", default="nobody"), list[str]()

    @pool.handler()
    async def work(_: Any, ctx: Context) -> None:
        tenant.set("acme")
        await ctx.checkpoint_async(1)

    fleet.slow = lambda what: seen.append(tenant.get()) if what == "checkpoints" else None
    work_ = fleet.add("a")
    with working(worker_of(pool, fleet)):
        fleet.wait_for(ended(work_))
    assert seen == ["acme"]
