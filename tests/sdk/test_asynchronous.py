"""`AsyncClockwork`: the surface of `Clockwork` on asyncio, its types, and its calls among failures and cancels."""

from __future__ import annotations

import ast
import asyncio
import inspect
import threading
from typing import Any

import pytest

from clockwork_client import AsyncClockwork, NotFound, Workflow, job
from clockwork_client.client import Clockwork
from clockwork_client.pages import Resource
from clockwork_client.transport import Request, Response
from tests.handlers.handlers import Api
from tests.sdk.edge import CREDENTIALS, URL, Hands, InMemory
from tests.support.asynchronous import PARTS, STUB, stub

HOOK = "https://example.com/hook"


@pytest.fixture
def api() -> Api:
    return Api()


def on(transport: Any, **more: Any) -> AsyncClockwork:
    return AsyncClockwork(URL, "acme", credentials=CREDENTIALS, transport=transport, machine=Hands().machine, **more)


def test_jobs_are_created_read_listed_and_changed(api: Api) -> None:
    async def program() -> None:
        async with on(InMemory(api)) as cw:
            made = await cw.schedule(HOOK, {"order": 17}, every="1h", key="report")
            assert (await cw.jobs.get(made.job_id)).payload == {"order": 17}
            assert [one.job_key async for one in cw.jobs.list(prefix="rep")] == ["report"]
            assert [one.job_key async for one in cw.jobs] == ["report"]
            found = await cw.jobs.find("report")
            assert found is not None
            assert (await cw.jobs.pause(found.job_id, "load")).state == "PAUSED"
            with pytest.raises(NotFound):
                await cw.jobs.get("nMS9hY21lL25vdGhpbmc")
            orders = (job(HOOK, number, in_=3_600) for number in range(3))
            assert [one.position async for one in cw.schedule_many(orders, key="k")] == [0, 1, 2]
            assert isinstance(cw.workflow(timeout="1d"), Workflow)
            assert (await cw.whoami()).client_ids == ("acme",)
            assert cw.url == URL and "acme" in repr(cw)

    asyncio.run(program())


def test_a_list_goes_on_by_its_token(api: Api) -> None:
    async def program() -> None:
        async with on(InMemory(api)) as cw:
            for key in "abcde":
                await cw.schedule(HOOK, every="1h", key=key)
            pages = cw.jobs.list(page_size=2)
            assert [one.job_key for one in await pages.page()] == ["a", "b"]
            other = cw.jobs.list(page_size=2, next_token=pages.next_token)
            assert [one.job_key async for one in other] == ["c", "d", "e"]
            assert [one.job_key async for one in pages] == ["c", "d", "e"]
            begun = cw.jobs.list(page_size=3)
            assert (await begun.__anext__()).job_key == "a"
            assert [one.job_key for one in await begun.page()] == ["b", "c"]

    asyncio.run(program())


def test_calls_run_side_by_side_and_the_loop_goes_on(api: Api) -> None:
    both, inner = threading.Barrier(2), InMemory(api)

    def meets(request: Request) -> Response:
        both.wait(20)
        return inner(request)

    async def program() -> None:
        async with on(meets) as cw:
            await asyncio.gather(cw.whoami(), cw.whoami())

    asyncio.run(program())


def test_a_cancelled_task_ends_at_once_and_its_call_later(api: Api) -> None:
    goes_on, done, inner = threading.Event(), threading.Event(), InMemory(api)

    def slow(request: Request) -> Response:
        goes_on.wait(20)
        answer = inner(request)
        done.set()
        return answer

    async def program() -> None:
        async with on(slow) as cw:
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(cw.schedule(HOOK, in_="5m", idempotency_key="k"), 0.1)
            goes_on.set()
            again = await cw.schedule(HOOK, in_="5m", idempotency_key="k")
            assert again.job_id
        assert done.wait(20)
        assert len(list(Clockwork(URL, "acme", credentials=CREDENTIALS, transport=inner).upcoming())) == 1

    asyncio.run(program())


def test_the_types_are_those_of_the_methods() -> None:
    kept = ast.dump(ast.parse(STUB.read_text(encoding="utf-8")))
    assert kept == ast.dump(ast.parse(stub())), "make openapi"


def test_every_part_of_the_client_has_its_types() -> None:
    cw = Clockwork(URL, credentials=CREDENTIALS, transport=lambda _: Response(200, {}, b"{}"))
    parts = {name for name, value in vars(cw).items() if isinstance(value, Resource)}
    assert parts == {name for name in PARTS if name}
    text = STUB.read_text(encoding="utf-8")
    for part in parts:
        for name, _ in inspect.getmembers(getattr(cw, part), inspect.ismethod):
            if not name.startswith("_"):
                assert f"def {name}(" in text, (part, name)
