"""Checkpoints of a worker that are kept late, or at once: the last one stays the last."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from clockwork_client.errors import NotCertain
from clockwork_client.transport import NoAnswer, Request, Response
from clockwork_client.worker import Context, Pool, calls
from clockwork_client.worker.clock import Monotonic
from tests.sdk.fleet import Fleet
from tests.sdk.workshop import ended, told, worker_of, working


@pytest.fixture
def pool() -> Pool:
    return Pool("batch-etl")


@pytest.fixture
def fleet() -> Fleet:
    return Fleet(Monotonic())


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
